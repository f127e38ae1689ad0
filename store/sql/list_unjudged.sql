-- Workspaces of this host whose task went on without them, with the attempt whose agent's work lies there unjudged.
SELECT allocation.*, attempt.id AS attempt_id
FROM allocation
JOIN attempt ON attempt.task_id = allocation.task_id AND attempt.allocation_id = allocation.id
WHERE allocation.host = %(host)s AND allocation.unjudged
  AND (%(after)s::uuid IS NULL OR allocation.id > %(after)s)
ORDER BY allocation.id
LIMIT %(limit)s
