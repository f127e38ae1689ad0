-- One cycle by hand: what a person would write who needs these rows and this fence and nothing else.
-- One statement for each step, as ours; what one step made, the next one knows.

WITH next AS MATERIALIZED (
  SELECT id FROM task WHERE state = 'queued' AND available_at <= now()
  ORDER BY priority DESC, available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE task SET state = 'running', seq = seq + 1, version = version + 1, lease_epoch = lease_epoch + 1,
    lease_worker = :worker, lease_expires = now() + interval '90 s', running_since = now()
  FROM next WHERE task.id = next.id AND task.state = 'queued'
  RETURNING task.id, seq, lease_epoch, head
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)
  SELECT id, seq, 'claim', 'queued', 'running', lease_epoch, 'bench' FROM claimed
)
SELECT id AS task, lease_epoch AS epoch, head FROM claimed \gset

WITH held AS (
  UPDATE task SET version = version + 1 WHERE id = :task AND state = 'running' AND lease_epoch = :epoch RETURNING id
)
INSERT INTO attempt (id, task_id, number, epoch, kind, item_id, revision, context, policy_version, base, executor,
                     worker_id)
SELECT gen_random_uuid(), id, 1, :epoch::int, 'execute', 'P1', 1, 1, 1, :head::text, 'local', :worker::bigint FROM held
RETURNING id AS attempt \gset

INSERT INTO allocation (id, task_id, epoch, host, executor, materialised_by)
SELECT gen_random_uuid(), id, lease_epoch, 'bench', 'local', :attempt::uuid FROM task
WHERE id = :task AND state = 'running' AND lease_epoch = :epoch
RETURNING id AS allocation \gset

UPDATE allocation SET state = 'ready', ready_at = now(), path = '/nowhere', base = :head, baseline = '{}'
FROM task
WHERE allocation.id = :allocation AND allocation.state = 'reserved'
  AND task.id = :task AND task.state = 'running' AND task.lease_epoch = :epoch;

WITH held AS (
  UPDATE task SET version = version + 1 WHERE id = :task AND state = 'running' AND lease_epoch = :epoch RETURNING id
)
UPDATE attempt SET state = 'running', started_at = now(), allocation_id = :allocation
FROM held WHERE attempt.id = :attempt AND attempt.state = 'pending';

WITH moved AS (
  UPDATE task SET seq = seq + 1, version = version + 1, context = context + 1, failures = 0, losses = 0,
    head = md5(:attempt::text) || '00000000'
  WHERE id = :task AND state = 'running' AND lease_epoch = :epoch
  RETURNING id, seq, head
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, attempt_id, reason)
  SELECT id, seq, 'settle', 'running', 'running', :epoch::int, 'bench', :attempt::uuid, 'done' FROM moved
), ended AS (
  UPDATE attempt SET state = 'completed', ended_at = now(), exit_code = 0, outcome = 'commit', commit = moved.head
  FROM moved WHERE attempt.id = :attempt AND attempt.state = 'running'
)
INSERT INTO commit_ledger (task_id, item_id, revision, attempt_id, outcome, parent, commit)
SELECT id, 'P1', 1, :attempt::uuid, 'commit', :head::text, head FROM moved;

WITH moved AS (
  UPDATE task SET state = 'in_review', seq = seq + 1, version = version + 1, gate_id = gen_random_uuid(),
    spent = spent + (now() - running_since), running_since = NULL, lease_worker = NULL, lease_expires = NULL
  WHERE id = :task AND state = 'running' AND lease_epoch = :epoch
  RETURNING id, seq, gate_id, head
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, reason)
  SELECT id, seq, 'submit', 'running', 'in_review', :epoch::int, 'bench', 'every item is done' FROM moved
)
INSERT INTO gate (id, task_id, kind, reason, head)
SELECT gate_id, id, 'review', 'every item is done', head FROM moved;

UPDATE allocation SET state = 'released', ended_at = now(), reason = 'settled'
WHERE id = :allocation AND state = 'ready';
