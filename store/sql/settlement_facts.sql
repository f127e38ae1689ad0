-- What settlement weighs: the task, its attempt, the policy in force and the retries its work allows.
-- The task is locked by the statement before: what is joined here must be as fresh as its row.
SELECT task.id, task.state, task.version, task.lease_epoch, task.context, task.stop_reason, task.stop_by,
       task.cancel_requested,
       task.owed_findings, task.owed_pauses, task.failures, task.retries AS granted, task.losses, task.head,
       coalesce(task.spent + (clock_timestamp() - task.running_since) >= task.budget, false) AS budget_spent,
       attempt.state AS attempt_state, attempt.kind, attempt.item_id, attempt.first_reason,
       attempt.context AS attempt_context, attempt.policy_version AS attempt_policy, attempt.isolation_failure,
       repository.policy_version, coalesce((repository.policy ->> 'losses')::int, 3) AS losses_allowed,
       coalesce(plan_item.retries, (plan_revision.document ->> 'check_retries')::int, 0) AS item_retries
FROM task
JOIN repository ON repository.id = task.repository_id
JOIN attempt ON attempt.id = %(attempt)s AND attempt.task_id = task.id
JOIN plan_revision ON plan_revision.task_id = task.id AND plan_revision.number = task.revision
LEFT JOIN plan_item ON plan_item.task_id = task.id AND plan_item.revision = attempt.revision
                   AND plan_item.item_id = attempt.item_id
WHERE task.id = %(task)s
