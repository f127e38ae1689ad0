-- One repository.
SELECT * FROM repository WHERE id = %(repository)s
