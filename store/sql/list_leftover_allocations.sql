-- Workspaces of this host that no live attempt holds although their row says they could be used, with their maker.
SELECT allocation.*, worker.host AS worker_host, worker.boot_id, worker.pid, worker.started,
       worker.state = 'gone' OR worker.heartbeat_at < clock_timestamp() - %(silence)s::interval AS worker_silent
FROM allocation
JOIN attempt ON attempt.id = allocation.materialised_by
JOIN worker ON worker.id = attempt.worker_id
WHERE allocation.host = %(host)s AND allocation.state IN ('reserved', 'ready')
  AND (%(after)s::uuid IS NULL OR allocation.id > %(after)s)
  AND NOT EXISTS (SELECT FROM attempt active WHERE active.active_task = allocation.task_id)
ORDER BY allocation.id
LIMIT %(limit)s
