-- Claim the next queued task this worker serves; one whose budget is spent comes back as it was, still queued.
WITH candidate AS MATERIALIZED (
  SELECT id, budget IS NOT NULL AND spent >= budget AS exhausted FROM task
  WHERE state = 'queued' AND available_at <= now()
    AND next_kind = ANY(%(kinds)s) AND executor = ANY(%(executors)s)
    AND CASE WHEN %(task)s::bigint IS NULL THEN true ELSE id = %(task)s END
  ORDER BY priority DESC, available_at, id
  LIMIT 1
  FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE task SET
    state = 'running',
    seq = seq + 1,
    version = version + 1,
    lease_epoch = lease_epoch + 1,
    lease_worker = %(worker)s,
    lease_expires = clock_timestamp() + %(lease)s,
    running_since = clock_timestamp()
  FROM candidate
  WHERE task.id = candidate.id AND task.state = 'queued' AND NOT candidate.exhausted
  RETURNING task.*
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, at)
  SELECT id, seq, 'claim', 'queued', state, lease_epoch, %(actor)s, clock_timestamp() FROM claimed
)
SELECT * FROM claimed
UNION ALL
SELECT task.* FROM task JOIN candidate ON candidate.id = task.id WHERE candidate.exhausted
