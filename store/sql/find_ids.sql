-- The rows of one noun whose uuid begins with the hex digits a person typed.
SELECT id::text AS id, task_id FROM {noun}
WHERE id >= %(low)s::uuid AND id <= %(high)s::uuid
ORDER BY id LIMIT 20
