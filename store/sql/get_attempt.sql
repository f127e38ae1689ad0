-- One attempt.
SELECT * FROM attempt WHERE id = %(attempt)s
