-- Running tasks whose worker is gone, or whose lease is dead by the database's clock.
SELECT task.id, task.lease_epoch, worker.state = 'gone' OR worker.id = ANY(%(dead)s) AS dead, attempt.id AS attempt_id
FROM task
JOIN worker ON worker.id = task.lease_worker
LEFT JOIN attempt ON attempt.active_task = task.id
WHERE task.state = 'running' AND task.id > %(after)s
  AND (task.lease_expires < clock_timestamp() OR worker.state = 'gone' OR worker.id = ANY(%(dead)s))
ORDER BY task.id
LIMIT %(limit)s
