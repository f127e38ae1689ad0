-- Take the sign of life of a worker for as long as this connection lives.
SELECT pg_try_advisory_lock(%(space)s, %(worker)s) AS free
