-- A repository by its name or by the path it was added from.
SELECT * FROM repository WHERE name = %(word)s OR (md5(source) = md5(%(word)s) AND source = %(word)s)
