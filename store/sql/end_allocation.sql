-- Take a workspace out of use: failed, retired, quarantined or released, with the reason.
UPDATE allocation SET state = %(state)s, ended_at = clock_timestamp(), reason = %(reason)s,
  path = coalesce(path, %(path)s), unjudged = unjudged OR %(unjudged)s
WHERE id = %(allocation)s AND state = %(believed)s
RETURNING *
