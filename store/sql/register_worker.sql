-- Register a process that will hold leases.
INSERT INTO worker (name, host, boot_id, pid, started, kinds, executors, slots)
VALUES (%(name)s, %(host)s, %(boot_id)s, %(pid)s, %(started)s, %(kinds)s, %(executors)s, %(slots)s)
RETURNING *
