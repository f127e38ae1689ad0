-- The latest approval of a task's result.
SELECT * FROM approval WHERE task_id = %(task)s AND kind = 'review' ORDER BY id DESC LIMIT 1
