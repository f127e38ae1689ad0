-- Running tasks whose lease is dead by the database's clock, whose worker said that it is gone, or whose worker is of
-- this host and may be proven dead.
SELECT task.id, task.lease_epoch, task.lease_worker, task.lease_expires < clock_timestamp() AS expired,
       worker.host, worker.boot_id, worker.pid, worker.started, worker.state AS worker_state,
       cardinality(worker.kinds) = 0 AS recovers, attempt.id AS attempt_id
FROM task
JOIN worker ON worker.id = task.lease_worker
LEFT JOIN attempt ON attempt.active_task = task.id
WHERE task.state = 'running' AND task.id > %(after)s
  AND (task.lease_expires < clock_timestamp() OR worker.state = 'gone' OR worker.host = %(host)s)
ORDER BY task.id
LIMIT %(limit)s
