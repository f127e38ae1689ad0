-- Remember that the isolation layer failed, before any later stop is weighed against it.
UPDATE attempt SET isolation_failure = coalesce(isolation_failure, %(failure)s)
WHERE id = %(attempt)s AND epoch = %(epoch)s AND state = 'running'
RETURNING id
