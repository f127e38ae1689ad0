-- One worker.
SELECT * FROM worker WHERE id = %(worker)s
