-- Queue again, a page at once, what dead workers held and nothing on this host is to be looked at for: tasks between
-- items, attempts that never started, attempts on other hosts. Whatever else is to be weighed is left to be weighed.
-- A row that changed between the look and the lock is passed over: its place and version are no longer what was seen.
WITH lost AS MATERIALIZED (
  SELECT task.id, task.ctid AS place, task.version, attempt.id AS attempt_id, attempt.number,
         attempt.state AS attempt_state, attempt.state = 'running' AS elsewhere,
         attempt.kind IN ('execute', 'fix') AS writing, attempt.allocation_id,
         CASE WHEN worker.state = 'gone' OR worker.id = ANY(%(dead)s) THEN 'its worker is gone'
              ELSE 'its lease expired' END AS why
  FROM task
  JOIN worker ON worker.id = task.lease_worker
  JOIN repository ON repository.id = task.repository_id
  LEFT JOIN attempt ON attempt.active_task = task.id
  WHERE task.state = 'running' AND task.id > %(after)s
    AND (task.lease_expires < clock_timestamp() OR worker.state = 'gone' OR worker.id = ANY(%(dead)s))
    AND task.stop_reason IS NULL AND NOT task.cancel_requested
    AND (task.budget IS NULL OR task.spent + (clock_timestamp() - task.running_since) < task.budget)
    AND (attempt.id IS NULL
         OR attempt.first_reason IS NULL AND attempt.isolation_failure IS NULL
            AND attempt.context = task.context AND attempt.policy_version = repository.policy_version
            AND task.losses + 1 < coalesce((repository.policy ->> 'losses')::int, 3)
            AND (attempt.state = 'pending'
                 OR (SELECT held.host FROM allocation held WHERE held.id = attempt.allocation_id) <> %(host)s))
  ORDER BY task.id
  LIMIT %(limit)s
  FOR UPDATE OF task SKIP LOCKED
), moved AS (
  UPDATE task SET
    state = 'queued',
    seq = seq + 1,
    version = task.version + 1,
    losses = losses + (lost.attempt_id IS NOT NULL)::int,
    spent = spent + (clock_timestamp() - running_since),
    running_since = NULL,
    lease_worker = NULL,
    lease_expires = NULL
  FROM lost WHERE task.ctid = lost.place AND task.version = lost.version AND task.state = 'running'
  RETURNING task.id, task.seq, task.lease_epoch, lost.attempt_id, lost.number, lost.attempt_state, lost.elsewhere,
            lost.writing, lost.allocation_id, lost.why
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, at, attempt_id, reason)
  SELECT id, seq, 'requeue', 'running', 'queued', lease_epoch, %(actor)s, clock_timestamp(), attempt_id,
         CASE WHEN attempt_id IS NULL THEN 'its worker was lost between items' ELSE 'worker_lost' END
  FROM moved
), ended AS (
  UPDATE attempt SET
    state = 'interrupted',
    ended_at = clock_timestamp(),
    failure = CASE WHEN moved.elsewhere THEN 'its workspace is on another host' ELSE '' END
  FROM moved WHERE attempt.id = moved.attempt_id
), put_aside AS (
  UPDATE allocation SET
    state = CASE allocation.state WHEN 'ready' THEN 'quarantined' ELSE 'failed' END,
    ended_at = clock_timestamp(),
    reason = 'its worker was lost',
    unjudged = coalesce(moved.elsewhere AND moved.writing AND allocation.id = moved.allocation_id, false)
  FROM moved WHERE allocation.task_id = moved.id AND allocation.state IN ('reserved', 'ready')
  RETURNING allocation.*
)
SELECT moved.id, moved.attempt_id, moved.number, moved.attempt_state, moved.why,
       put_aside.id AS allocation_id, put_aside.state AS allocation_state, put_aside.epoch, put_aside.host
FROM moved LEFT JOIN put_aside ON put_aside.task_id = moved.id
ORDER BY moved.id, put_aside.id
