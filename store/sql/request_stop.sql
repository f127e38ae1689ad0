-- Ask a running task to stop: the first reason recorded wins, on the task and on its active attempt; who cancels it is
-- remembered before whoever stopped it.
WITH asked AS (
  UPDATE task SET
    version = version + 1,
    stop_reason = coalesce(stop_reason, %(why)s),
    stop_by = CASE WHEN %(cancel)s AND NOT cancel_requested THEN %(actor)s ELSE coalesce(stop_by, %(actor)s) END,
    cancel_requested = cancel_requested OR %(cancel)s
  WHERE id = %(task)s AND state = 'running' AND (%(epoch)s::int IS NULL OR lease_epoch = %(epoch)s)
  RETURNING *
), told AS (
  UPDATE attempt SET first_reason = coalesce(first_reason, asked.stop_reason)
  FROM asked WHERE attempt.task_id = asked.id AND attempt.state IN ('pending', 'running')
)
SELECT * FROM asked
