-- List the tasks a worker holds with no attempt active: between two items, or claimed by an answer that was lost.
SELECT task.* FROM task
WHERE lease_worker = %(worker)s AND state = 'running'
  AND NOT EXISTS (SELECT FROM attempt WHERE task_id = task.id AND state IN ('pending', 'running'))
ORDER BY id
