-- The board, newest first, a page at a time.
SELECT task.* FROM task
WHERE (%(state)s::text IS NULL OR task.state = %(state)s)
  AND (%(repository)s::bigint IS NULL OR task.repository_id = %(repository)s)
  AND (%(before)s::bigint IS NULL OR task.id < %(before)s)
ORDER BY task.id DESC
LIMIT %(limit)s
