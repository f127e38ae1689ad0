-- The attempt of a task that has not ended, if there is one.
SELECT * FROM attempt WHERE active_task = %(task)s
