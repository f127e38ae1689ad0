-- Extend every lease this worker still holds, by the database's clock; bring back what it must act on.
WITH alive AS (
  UPDATE worker SET heartbeat_at = clock_timestamp() WHERE id = %(worker)s
), beaten AS (
  UPDATE task SET lease_expires = clock_timestamp() + %(lease)s
  FROM unnest(%(tasks)s::bigint[], %(epochs)s::int[]) AS held (id, epoch)
  WHERE task.id = held.id AND task.state = 'running' AND task.lease_epoch = held.epoch
    AND task.lease_worker = %(worker)s AND task.lease_expires >= clock_timestamp()
  RETURNING task.id, task.lease_epoch, task.lease_expires, task.context, task.version, task.stop_reason,
            task.cancel_requested
)
SELECT * FROM beaten
