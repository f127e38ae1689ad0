-- A reviewer's revision keeps what was approved: a plan and items that were covered stay so as that revision words them.
INSERT INTO approval (task_id, kind, gate_id, revision, item_id, digest, actor)
SELECT %(task)s, 'item', %(gate)s::uuid, NULL, now.item_id, now.digest, %(actor)s
FROM plan_item now
JOIN plan_item before ON before.task_id = now.task_id AND before.revision = now.revision - 1
                     AND before.item_id = now.item_id
WHERE now.task_id = %(task)s AND now.revision = %(revision)s AND now.digest <> before.digest
  AND EXISTS (SELECT FROM approval WHERE approval.task_id = before.task_id AND approval.kind = 'item'
              AND approval.item_id = before.item_id AND approval.digest = before.digest)
UNION ALL
SELECT %(task)s, 'plan', %(gate)s::uuid, %(revision)s, NULL, NULL, %(actor)s
WHERE EXISTS (SELECT FROM approval WHERE task_id = %(task)s AND kind = 'plan' AND revision = %(revision)s - 1)
  AND NOT EXISTS (SELECT FROM approval WHERE task_id = %(task)s AND kind = 'plan' AND revision = %(revision)s)
