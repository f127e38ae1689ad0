-- Which of these workspaces have a row.
SELECT id FROM allocation WHERE id = ANY(%(allocations)s)
