-- Say that a worker drains, or is gone.
UPDATE worker SET state = %(state)s, heartbeat_at = clock_timestamp(),
  gone_at = CASE WHEN %(state)s = 'gone' THEN clock_timestamp() END
WHERE id = %(worker)s AND state <> %(state)s AND state <> 'gone'
RETURNING *
