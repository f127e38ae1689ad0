-- Add a repository.
INSERT INTO repository (runner, name, source, target, object_format, raw_attributes, policy, added_by)
VALUES (%(runner)s, %(name)s, %(source)s, %(target)s, %(object_format)s, %(raw_attributes)s, %(policy)s, %(actor)s)
RETURNING *
