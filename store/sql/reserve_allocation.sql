-- Reserve a workspace: its row exists before its first file. What attempts that ended left behind is put aside first,
-- on whichever host it lies, so that a lost host never keeps its task from another one.
WITH held AS (
  SELECT id, lease_epoch FROM task WHERE id = %(task)s AND state = 'running' AND lease_epoch = %(epoch)s
), left_over AS (
  UPDATE allocation SET state = CASE allocation.state WHEN 'ready' THEN 'quarantined' ELSE 'failed' END,
    ended_at = clock_timestamp(), reason = 'left behind by an attempt that ended'
  FROM held, attempt maker
  WHERE allocation.task_id = held.id AND allocation.state IN ('reserved', 'ready')
    AND maker.id = allocation.materialised_by AND maker.ended_at IS NOT NULL
  RETURNING allocation.id
)
INSERT INTO allocation (id, task_id, epoch, host, executor, materialised_by)
SELECT %(allocation)s, held.id, held.lease_epoch, %(host)s, %(executor)s, %(attempt)s
FROM held, (SELECT count(*) FROM left_over) AS put_aside
RETURNING *
