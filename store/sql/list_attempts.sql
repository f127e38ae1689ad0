-- A task's attempts in the order they were admitted.
SELECT * FROM attempt WHERE task_id = %(task)s ORDER BY number
