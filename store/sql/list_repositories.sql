-- Every repository by name.
SELECT * FROM repository ORDER BY name
