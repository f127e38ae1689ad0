-- The second boundary: mark a pending attempt running only if everything it was admitted with still holds.
WITH held AS (
  UPDATE task SET version = version + 1
  FROM attempt, repository
  WHERE task.id = %(task)s AND task.state = 'running' AND task.lease_epoch = %(epoch)s
    AND attempt.id = %(attempt)s AND attempt.task_id = task.id AND attempt.state = 'pending'
    AND attempt.first_reason IS NULL AND task.stop_reason IS NULL AND NOT task.cancel_requested
    AND task.owed_findings = 0 AND task.owed_pauses = 0
    AND attempt.context = task.context AND attempt.policy_version = repository.policy_version
    AND repository.id = task.repository_id
    AND (task.budget IS NULL OR task.spent + (clock_timestamp() - task.running_since) < task.budget)
    AND EXISTS (SELECT FROM allocation WHERE id = %(allocation)s AND task_id = task.id AND state = 'ready'
                  AND generation = %(generation)s AND executor = attempt.executor AND base = attempt.base
                  AND epoch = attempt.epoch)
  RETURNING task.*
), launched AS (
  UPDATE attempt SET state = 'running', started_at = clock_timestamp(), allocation_id = %(allocation)s,
    links_digest = %(links_digest)s
  FROM held WHERE attempt.id = %(attempt)s
  RETURNING attempt.started_at
)
SELECT launched.started_at, held.version, held.lease_expires,
       held.budget - held.spent - (clock_timestamp() - held.running_since) AS budget_left
FROM held, launched
