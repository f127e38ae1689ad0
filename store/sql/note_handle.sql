-- Remember which process an attempt's agent is, before it is let go.
UPDATE attempt SET handle = %(handle)s
WHERE id = %(attempt)s AND epoch = %(epoch)s AND state = 'running'
RETURNING id
