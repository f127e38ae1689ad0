-- Queue tasks of one item: their rows, their first lines, their plans.
WITH added AS (
  INSERT INTO task (repository_id, title, author, state, executor, base, head, target)
  SELECT repository.id, 'task ' || n, 'bench', 'queued', 'local', repeat('b', 40), repeat('b', 40), 'main'
  FROM public.repository, generate_series(1, %s) AS n
  RETURNING id
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)
  SELECT id, 1, 'add', '', 'queued', 0, 'bench' FROM added
), planned AS (
  INSERT INTO plan_revision (task_id, number, document, cause, made_by, made_in)
  SELECT id, 1, '{}', 'add', 'bench', '' FROM added
)
INSERT INTO plan_item (task_id, revision, item_id, position, kind, title, approval, retries, digest)
SELECT id, 1, 'P1', 1, 'execute', 'Do it', 'none', 1, repeat('d', 64) FROM added
