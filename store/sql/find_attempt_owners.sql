-- Which tasks attempts belong to, and whether they ended.
SELECT id, task_id, ended_at IS NOT NULL AS ended FROM attempt WHERE id = ANY(%(attempts)s)
