-- Add a task: its row, its first line, its first plan revision and that revision's items.
WITH added AS (
  INSERT INTO task (repository_id, title, author, state, priority, available_at, next_kind, executor,
                    base, head, target, budget)
  VALUES (%(repository)s, %(title)s, %(actor)s, 'queued', %(priority)s, coalesce(%(not_before)s, now()),
          %(next_kind)s, %(executor)s, %(base)s, %(base)s, %(target)s, %(budget)s)
  RETURNING *
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)
  SELECT id, seq, 'add', '', state, lease_epoch, author FROM added
), made AS (
  INSERT INTO plan_revision (task_id, number, document, cause, made_by, made_in)
  SELECT id, revision, %(document)s, 'add', author, '' FROM added
), listed AS (
  INSERT INTO plan_item (task_id, revision, item_id, position, kind, title, approval, retries, digest)
  SELECT added.id, added.revision, item.* FROM added, jsonb_to_recordset(%(items)s)
    AS item (item_id text, position int, kind text, title text, approval text, retries int, digest text)
)
SELECT * FROM added
