-- One task.
SELECT * FROM task WHERE id = %(task)s
