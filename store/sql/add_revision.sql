-- Save a plan revision and its items; the number is the caller's belief, so that two savers cannot both win.
WITH made AS (
  INSERT INTO plan_revision (task_id, number, document, cause, made_by, made_in)
  VALUES (%(task)s, %(number)s, %(document)s, %(cause)s, %(actor)s, %(made_in)s)
  RETURNING *
), listed AS (
  INSERT INTO plan_item (task_id, revision, item_id, position, kind, title, approval, retries, digest)
  SELECT made.task_id, made.number, item.* FROM made, jsonb_to_recordset(%(items)s)
    AS item (item_id text, position int, kind text, title text, approval text, retries int, digest text)
)
SELECT * FROM made
