-- Discard one live ledger row and every later one; what they committed stays under named refs.
UPDATE commit_ledger SET state = 'discarded', discarded_at = clock_timestamp(), discarded_by = %(actor)s,
  discarded_reason = %(reason)s
WHERE task_id = %(task)s AND state = 'live' AND id >= %(first)s
RETURNING *
