-- What a worker must act on between two heartbeats: stops, closings and new contexts of the tasks it holds.
SELECT task.id, task.lease_epoch, task.lease_expires, task.context, task.version, task.stop_reason,
       task.cancel_requested
FROM unnest(%(tasks)s::bigint[], %(epochs)s::int[]) AS held (id, epoch)
JOIN task ON task.id = held.id AND task.state = 'running' AND task.lease_epoch = held.epoch
