-- Merges whose owner's lease and push time are over.
SELECT * FROM merge_attempt
WHERE state = 'submitting' AND lease_expires < clock_timestamp() AND task_id > %(after)s
ORDER BY task_id
LIMIT %(limit)s
