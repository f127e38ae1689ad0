-- What decides a held task's next step: its items with what is done and approved, and the checks of its head.
SELECT task.stop_reason, task.cancel_requested, task.failures, task.retries,
       task.budget IS NOT NULL AND task.spent + (clock_timestamp() - task.running_since) >= task.budget AS budget_spent,
       coalesce(revision.document ->> 'approval', 'none') = 'before' AS plan_asks,
       EXISTS (SELECT FROM approval WHERE task_id = task.id AND kind = 'plan' AND approval.revision = task.revision)
         AS plan_approved,
       coalesce(revision.document -> 'checks', '[]') AS checks,
       coalesce((revision.document ->> 'check_retries')::int, 0) AS check_retries,
       (SELECT jsonb_agg(jsonb_build_object(
            'item', item.item_id, 'kind', item.kind, 'asks', item.approval = 'before', 'retries', item.retries,
            'done', ledger.id IS NOT NULL,
            'approved', EXISTS (SELECT FROM approval WHERE task_id = task.id AND kind = 'item'
                                AND approval.item_id = item.item_id AND approval.digest = item.digest))
          ORDER BY item.position)
        FROM plan_item item
        LEFT JOIN commit_ledger ledger ON ledger.task_id = item.task_id AND ledger.item_id = item.item_id
                                      AND ledger.state = 'live'
        WHERE item.task_id = task.id AND item.revision = task.revision) AS items,
       (SELECT coalesce(jsonb_object_agg(latest.command, latest.passed), '{}') FROM (
          SELECT DISTINCT ON (command) command, passed FROM check_result
          WHERE task_id = task.id AND head = task.head AND voided_at IS NULL
          ORDER BY command, id DESC) AS latest) AS results
FROM task
JOIN plan_revision revision ON revision.task_id = task.id AND revision.number = task.revision
WHERE task.id = %(task)s AND task.state = 'running' AND task.lease_epoch = %(epoch)s
