-- Reserve a workspace: its row exists before its first file.
INSERT INTO allocation (id, task_id, epoch, host, executor, materialised_by)
SELECT %(allocation)s, id, lease_epoch, %(host)s, %(executor)s, %(attempt)s FROM task
WHERE id = %(task)s AND state = 'running' AND lease_epoch = %(epoch)s
RETURNING *
