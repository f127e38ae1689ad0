-- A task's merges in order.
SELECT * FROM merge_attempt WHERE task_id = %(task)s ORDER BY begun_at
