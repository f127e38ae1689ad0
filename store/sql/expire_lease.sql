-- Give a lease up: whoever looks next may take the task over.
UPDATE task SET lease_expires = clock_timestamp() - interval '1 microsecond'
WHERE id = %(task)s AND state = 'running' AND lease_epoch = %(epoch)s
