-- Open tasks of a repository with the head and base their refs ought to hold.
SELECT id, head, base FROM task
WHERE repository_id = %(repository)s AND id > %(after)s AND state NOT IN ('merged', 'cancelled')
ORDER BY id
LIMIT %(limit)s
