-- Say where a workspace lies that was never ready.
UPDATE allocation SET path = coalesce(path, %(path)s) WHERE id = %(allocation)s
