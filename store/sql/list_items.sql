-- The items of a task's current revision, each with what the ledger and its last attempt say of it.
SELECT item.item_id, item.position, item.kind, item.title, item.approval, item.retries, item.digest,
       ledger.outcome, ledger.commit, ledger.attempt_id, last.state AS last_state
FROM task
JOIN plan_item item ON item.task_id = task.id AND item.revision = task.revision
LEFT JOIN commit_ledger ledger ON ledger.task_id = task.id AND ledger.item_id = item.item_id AND ledger.state = 'live'
LEFT JOIN LATERAL (
  SELECT state FROM attempt WHERE attempt.task_id = task.id AND attempt.item_id = item.item_id
  ORDER BY number DESC LIMIT 1) AS last ON true
WHERE task.id = %(task)s
ORDER BY item.position
