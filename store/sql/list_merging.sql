-- Merges whose owner's lease and push time are over.
SELECT merge_attempt.*, task.version AS task_version FROM merge_attempt JOIN task ON task.id = merge_attempt.task_id
WHERE merge_attempt.state = 'submitting' AND merge_attempt.lease_expires < clock_timestamp()
ORDER BY merge_attempt.task_id
