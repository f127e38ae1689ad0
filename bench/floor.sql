-- One cycle by hand: the same rows under the same conditions, and nothing that only these tasks never need.
-- One statement for each step, as ours; what one step made, the next one knows.

WITH next AS MATERIALIZED (
  SELECT id FROM task
  WHERE state = 'queued' AND available_at <= now() AND next_kind IN ('execute', 'fix', 'check', 'review')
    AND executor = 'local' AND (budget IS NULL OR spent < budget)
  ORDER BY priority DESC, available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE task SET state = 'running', seq = seq + 1, version = version + 1, lease_epoch = lease_epoch + 1,
    lease_worker = :worker, lease_expires = now() + interval '90 s', running_since = now()
  FROM next WHERE task.id = next.id AND task.state = 'queued'
  RETURNING task.id, seq, lease_epoch, context, head
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)
  SELECT id, seq, 'claim', 'queued', 'running', lease_epoch, 'bench' FROM claimed
)
SELECT id AS task, lease_epoch AS epoch, context, head FROM claimed \gset

WITH held AS (
  UPDATE task SET version = version + 1
  WHERE id = :task AND state = 'running' AND lease_epoch = :epoch AND context = :context
    AND stop_reason IS NULL AND NOT cancel_requested AND owed_findings = 0 AND owed_pauses = 0
  RETURNING id, repository_id
)
INSERT INTO attempt (id, task_id, number, epoch, kind, item_id, revision, context, policy_version, base, executor,
                     worker_id)
SELECT gen_random_uuid(), held.id, (SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE task_id = held.id),
       :epoch::int, 'execute', 'P1', 1, :context::int, policy_version, :head::text, 'local', :worker::bigint
FROM held JOIN repository ON repository.id = held.repository_id
RETURNING id AS attempt, policy_version AS policy \gset

INSERT INTO allocation (id, task_id, epoch, host, executor, materialised_by)
SELECT gen_random_uuid(), id, lease_epoch, 'bench', 'local', :attempt::uuid FROM task
WHERE id = :task AND state = 'running' AND lease_epoch = :epoch
RETURNING id AS allocation \gset

UPDATE allocation SET state = 'ready', ready_at = now(), path = '/nowhere', base = :head, baseline = '{}'
FROM task
WHERE allocation.id = :allocation AND allocation.state = 'reserved'
  AND task.id = :task AND task.state = 'running' AND task.lease_epoch = :epoch;

WITH held AS (
  UPDATE task SET version = version + 1
  FROM repository
  WHERE task.id = :task AND task.state = 'running' AND task.lease_epoch = :epoch AND task.context = :context
    AND stop_reason IS NULL AND NOT cancel_requested AND owed_findings = 0 AND owed_pauses = 0
    AND (budget IS NULL OR spent + (now() - running_since) < budget)
    AND repository.id = task.repository_id AND repository.policy_version = :policy
    AND EXISTS (SELECT FROM allocation WHERE id = :allocation AND state = 'ready' AND generation = 1)
  RETURNING task.id, version
)
UPDATE attempt SET state = 'running', started_at = now(), allocation_id = :allocation
FROM held WHERE attempt.id = :attempt AND attempt.state = 'pending' AND attempt.first_reason IS NULL
RETURNING held.version \gset

WITH moved AS (
  UPDATE task SET seq = seq + 1, version = version + 1, context = context + 1, failures = 0, losses = 0,
    head = md5(:attempt::text) || '00000000'
  WHERE id = :task AND state = 'running' AND lease_epoch = :epoch AND version = :version
    AND EXISTS (SELECT FROM repository WHERE id = task.repository_id AND policy_version = :policy)
  RETURNING id, seq, head
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, attempt_id, reason)
  SELECT id, seq, 'settle', 'running', 'running', :epoch::int, 'bench', :attempt::uuid, 'done' FROM moved
), ended AS (
  UPDATE attempt SET state = 'completed', ended_at = now(), exit_code = 0, outcome = 'commit', commit = moved.head
  FROM moved WHERE attempt.id = :attempt AND attempt.state = 'running'
  RETURNING attempt.id
), named AS (
  INSERT INTO output (attempt_id, kind, host, path, size, sha256, truncated, tail)
  SELECT id, 'log', 'bench', '/nowhere/output.log', 12, repeat('0', 64), false, 'it is done' FROM ended
)
INSERT INTO commit_ledger (task_id, item_id, revision, attempt_id, outcome, parent, commit)
SELECT id, 'P1', 1, :attempt::uuid, 'commit', :head::text, head FROM moved;

WITH moved AS (
  UPDATE task SET state = 'in_review', seq = seq + 1, version = version + 1, gate_id = gen_random_uuid(),
    spent = spent + (now() - running_since), running_since = NULL, lease_worker = NULL, lease_expires = NULL
  WHERE id = :task AND state = 'running' AND lease_epoch = :epoch AND version = :version + 1
  RETURNING id, seq, gate_id, head
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, reason)
  SELECT id, seq, 'submit', 'running', 'in_review', :epoch::int, 'bench', 'every item is done' FROM moved
)
INSERT INTO gate (id, task_id, kind, reason, head)
SELECT gate_id, id, 'review', 'every item is done', head FROM moved;

UPDATE allocation SET state = 'released', ended_at = now(), reason = 'settled'
WHERE id = :allocation AND state = 'ready';
