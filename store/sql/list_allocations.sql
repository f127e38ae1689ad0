-- Workspaces that still exist, by host or by task.
SELECT * FROM allocation
WHERE (%(task)s::bigint IS NULL OR task_id = %(task)s) AND (%(host)s::text IS NULL OR host = %(host)s)
  AND (%(released)s OR state <> 'released')
ORDER BY reserved_at, id
