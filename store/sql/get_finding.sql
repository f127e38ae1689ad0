-- One finding.
SELECT * FROM finding WHERE id = %(finding)s
