-- Say durably that the push is about to start.
UPDATE merge_attempt SET pushing_at = clock_timestamp()
WHERE id = %(merge)s AND state = 'submitting' AND pushing_at IS NULL
RETURNING *
