-- Say that a reserved workspace is complete and may be attached.
UPDATE allocation SET state = 'ready', ready_at = clock_timestamp(), path = %(path)s, base = %(base)s,
  baseline = %(baseline)s
FROM task
WHERE allocation.id = %(allocation)s AND allocation.state = 'reserved' AND task.id = allocation.task_id
  AND task.state = 'running' AND task.lease_epoch = %(epoch)s
RETURNING allocation.*
