-- Tell whether nobody holds a worker's sign of life; a restart of the server frees every one of them.
SELECT pg_try_advisory_lock(%(space)s, %(worker)s) AND pg_advisory_unlock(%(space)s, %(worker)s) AS free
