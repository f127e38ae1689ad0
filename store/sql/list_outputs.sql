-- The files of a task's attempts.
SELECT output.* FROM output JOIN attempt ON attempt.id = output.attempt_id
WHERE attempt.task_id = %(task)s ORDER BY attempt.number, output.id
