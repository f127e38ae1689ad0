-- A reviewer's revision keeps what was approved: an item that was covered stays covered as that revision words it.
INSERT INTO approval (task_id, kind, gate_id, item_id, digest, actor)
SELECT now.task_id, 'item', %(gate)s, now.item_id, now.digest, %(actor)s
FROM plan_item now
JOIN plan_item before ON before.task_id = now.task_id AND before.revision = now.revision - 1
                     AND before.item_id = now.item_id
WHERE now.task_id = %(task)s AND now.revision = %(revision)s AND now.digest <> before.digest
  AND EXISTS (SELECT FROM approval WHERE approval.task_id = before.task_id AND approval.kind = 'item'
              AND approval.item_id = before.item_id AND approval.digest = before.digest)
