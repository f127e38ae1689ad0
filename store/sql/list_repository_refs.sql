-- Every open task of a repository with the head and base its refs ought to hold.
SELECT id, head, base FROM task WHERE repository_id = %(repository)s AND state NOT IN ('merged', 'cancelled')
ORDER BY id
