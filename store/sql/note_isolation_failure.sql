-- Remember that the isolation layer failed before any stop was asked for; one that came first is weighed first.
UPDATE attempt SET isolation_failure = coalesce(isolation_failure, %(failure)s)
WHERE id = %(attempt)s AND epoch = %(epoch)s AND state = 'running' AND first_reason IS NULL
RETURNING id
