-- The reserved and ready workspaces of a task.
SELECT * FROM allocation WHERE task_id = %(task)s AND state IN ('reserved', 'ready')
