-- End the open pause of a task, once.
UPDATE pause SET state = %(state)s, decided_at = clock_timestamp(), decided_by = %(actor)s
WHERE task_id = %(task)s AND state = 'open'
RETURNING *
