-- Lose what is queued: claimed by a worker whose lease is over, every other one with an attempt that never started.
WITH claimed AS (
  UPDATE task SET state = 'running', seq = seq + 1, version = version + 1, lease_epoch = lease_epoch + 1,
    lease_worker = (SELECT min(id) FROM worker), lease_expires = now() - interval '1 h', running_since = now()
  WHERE state = 'queued' AND lease_epoch = 0
  RETURNING *
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)
  SELECT id, seq, 'claim', 'queued', 'running', lease_epoch, 'bench' FROM claimed
), admitted AS (
  INSERT INTO attempt (task_id, number, epoch, kind, item_id, revision, context, policy_version, base, executor, worker_id)
  SELECT id, 1, lease_epoch, 'execute', 'P1', 1, context, 1, base, executor, lease_worker FROM claimed WHERE id % 2 = 0
  RETURNING *
)
INSERT INTO allocation (task_id, epoch, host, executor, materialised_by)
SELECT task_id, epoch, 'bench', executor, id FROM admitted
