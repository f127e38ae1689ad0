-- End a merge that was being submitted, once.
UPDATE merge_attempt SET state = %(state)s, ended_at = clock_timestamp(), reason = %(reason)s
WHERE id = %(merge)s AND state = 'submitting'
RETURNING *
