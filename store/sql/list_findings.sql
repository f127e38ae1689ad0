-- Findings, owed ones first and late ones before all.
SELECT * FROM finding
WHERE (%(task)s::bigint IS NULL OR task_id = %(task)s)
  AND (%(state)s::text IS NULL OR state = %(state)s)
ORDER BY state = 'open' DESC, late DESC, id
LIMIT %(limit)s::bigint
