-- Take over a running task whose lease is dead: a lease of one's own, the next epoch, the active attempt with it.
WITH taken AS (
  UPDATE task SET
    seq = seq + 1,
    version = version + 1,
    lease_epoch = lease_epoch + 1,
    lease_worker = %(worker)s,
    lease_expires = clock_timestamp() + %(lease)s
  WHERE id = %(task)s AND state = 'running' AND lease_epoch = %(epoch)s
    AND (lease_expires < clock_timestamp() OR %(proven_dead)s)
  RETURNING *
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, at, reason)
  SELECT id, seq, 'take_over', 'running', state, lease_epoch, %(actor)s, clock_timestamp(), %(reason)s FROM taken
), followed AS (
  UPDATE attempt SET epoch = taken.lease_epoch
  FROM taken WHERE attempt.task_id = taken.id AND attempt.state IN ('pending', 'running')
)
SELECT * FROM taken
