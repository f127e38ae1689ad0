-- Findings: late ones before all, then what open tasks owe, then the rest; a closed task owes nothing any more.
SELECT finding.*
FROM finding JOIN task ON task.id = finding.task_id
WHERE (%(task)s::bigint IS NULL OR finding.task_id = %(task)s)
  AND (%(state)s::text IS NULL OR finding.state = %(state)s)
ORDER BY finding.state = 'open' AND finding.late DESC,
         finding.state = 'open' AND task.state NOT IN ('merged', 'cancelled') DESC,
         finding.state = 'open' DESC, finding.late DESC, finding.id
LIMIT %(limit)s::bigint
