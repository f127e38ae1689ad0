-- Close the open gate of a task, once.
UPDATE gate SET state = %(state)s, decided_at = clock_timestamp(), decided_by = %(actor)s, comment = %(comment)s
WHERE id = %(gate)s AND state = 'open'
RETURNING *
