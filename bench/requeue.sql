-- The floor of recovery: whoever knows that nothing else is to be weighed moves the same rows in one plain statement.
WITH moved AS (
  UPDATE task SET state = 'queued', seq = task.seq + 1, version = task.version + 1,
    losses = task.losses + (lost.attempt IS NOT NULL)::int, spent = task.spent + (now() - task.running_since),
    running_since = NULL, lease_worker = NULL, lease_expires = NULL
  FROM (SELECT task.id, attempt.id AS attempt FROM task LEFT JOIN attempt ON attempt.active_task = task.id
        WHERE task.state = 'running' AND task.lease_expires < now()) AS lost
  WHERE task.id = lost.id
  RETURNING task.id, task.seq, task.lease_epoch, lost.attempt
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, attempt_id, reason)
  SELECT id, seq, 'requeue', 'running', 'queued', lease_epoch, 'bench', attempt, 'lost' FROM moved
), ended AS (
  UPDATE attempt SET state = 'interrupted', ended_at = now() FROM moved WHERE attempt.id = moved.attempt
)
UPDATE allocation SET state = 'failed', ended_at = now(), reason = 'its worker was lost'
FROM moved WHERE allocation.task_id = moved.id AND allocation.state = 'reserved'
