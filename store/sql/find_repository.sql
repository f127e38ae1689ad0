-- A repository by its name, else by the path it was added from.
SELECT * FROM repository WHERE name = %(word)s OR (md5(source) = md5(%(word)s) AND source = %(word)s)
ORDER BY name = %(word)s DESC
