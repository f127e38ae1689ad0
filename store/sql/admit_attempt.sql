-- Admit an attempt under the caller's lease: the row exists before anything is made for it.
WITH held AS (
  UPDATE task SET version = version + 1
  WHERE id = %(task)s AND state = 'running' AND lease_epoch = %(epoch)s AND context = %(context)s
    AND stop_reason IS NULL AND NOT cancel_requested AND owed_findings = 0 AND owed_pauses = 0
  RETURNING *
)
INSERT INTO attempt (id, task_id, number, epoch, kind, item_id, revision, context, policy_version, base, executor,
                     worker_id, first_reason)
SELECT %(attempt)s, held.id,
       (SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE task_id = held.id),
       held.lease_epoch, %(kind)s, %(item)s, held.revision, held.context, repository.policy_version, held.head,
       held.executor, held.lease_worker, held.stop_reason
FROM held JOIN repository ON repository.id = held.repository_id
RETURNING *
