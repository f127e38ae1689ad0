-- The latest pause of a task, whatever its state.
SELECT * FROM pause WHERE task_id = %(task)s ORDER BY id DESC LIMIT 1
