-- Count a durable change of a task that is not a move.
UPDATE task SET version = version + 1 WHERE id = %(task)s RETURNING *
