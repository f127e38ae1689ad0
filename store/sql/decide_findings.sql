-- Decide open findings alike, each once.
UPDATE finding SET state = %(state)s, permit = %(permit)s, decided_at = clock_timestamp(), decided_by = %(actor)s,
  reason = %(reason)s
WHERE id = ANY(%(findings)s) AND state = 'open'
RETURNING *
