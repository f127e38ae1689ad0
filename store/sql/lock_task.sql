-- One task, held until the transaction ends: what is read now is what will be moved.
SELECT * FROM task WHERE id = %(task)s FOR UPDATE
