-- Move a task along one edge: the row, its line, its attempt's end and files, its ledger, its new gate, all or nothing.
-- No row back means that somebody was faster.
WITH moved AS (
  UPDATE task SET
    state = %(dest)s,
    seq = seq + 1,
    version = version + 1,
    context = context + %(context)s,
    revision = coalesce(%(revision)s, revision),
    base = coalesce(%(base)s, base),
    head = coalesce(%(head)s, head),
    target = coalesce(%(target)s, target),
    next_kind = coalesce(%(next_kind)s, next_kind),
    budget = coalesce(%(budget)s, budget),
    failures = coalesce(%(failures)s, failures),
    losses = coalesce(%(losses)s, losses),
    retries = CASE WHEN %(retries_set)s THEN %(retries)s ELSE retries END,
    guidance = coalesce(%(guidance)s, guidance),
    gate_id = %(gate)s,
    spent = CASE WHEN state = 'running' AND %(dest)s <> 'running'
                 THEN spent + (clock_timestamp() - running_since) ELSE spent END,
    running_since = CASE WHEN %(dest)s = 'running' THEN running_since END,
    lease_worker = CASE WHEN %(dest)s = 'running' THEN lease_worker END,
    lease_expires = CASE WHEN %(dest)s = 'running' THEN lease_expires END,
    stop_reason = NULL,
    stop_by = NULL,
    cancel_requested = cancel_requested AND %(dest)s = 'cancelled'
  WHERE id = %(task)s
    AND state = %(source)s
    AND version = %(version)s
    AND (%(epoch)s::int IS NULL OR lease_epoch = %(epoch)s)
    AND (%(policy)s::int IS NULL
         OR EXISTS (SELECT FROM repository WHERE id = task.repository_id AND policy_version = %(policy)s))
  RETURNING *
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor, at, attempt_id, reason)
  SELECT id, seq, %(event)s, %(source)s, state, lease_epoch, %(actor)s, clock_timestamp(), %(attempt)s, %(reason)s
  FROM moved
), opened AS (
  INSERT INTO gate (id, task_id, kind, reason, subjects, head)
  SELECT gate_id, id, %(gate_kind)s, %(gate_reason)s, %(gate_subjects)s, head FROM moved WHERE gate_id IS NOT NULL
), ended AS (
  UPDATE attempt SET
    state = %(attempt_state)s,
    ended_at = clock_timestamp(),
    first_reason = coalesce(first_reason, %(first_reason)s),
    exit_code = %(exit_code)s,
    isolation_failure = coalesce(isolation_failure, %(isolation_failure)s),
    failure_code = %(failure_code)s,
    failure = %(failure)s,
    manifest_digest = %(manifest_digest)s,
    outcome = %(outcome)s,
    commit = %(commit)s,
    evidence = evidence || %(evidence)s
  FROM moved
  WHERE attempt.id = %(attempt)s AND attempt.task_id = moved.id AND %(attempt_state)s::text IS NOT NULL
  RETURNING attempt.*
), recorded AS (
  INSERT INTO commit_ledger (task_id, item_id, revision, attempt_id, outcome, parent, commit)
  SELECT task_id, item_id, revision, id, outcome, base, commit FROM ended
  WHERE state = 'completed' AND outcome IS NOT NULL AND item_id IS NOT NULL
), named AS (
  INSERT INTO output (attempt_id, kind, host, path, size, sha256, truncated, tail)
  SELECT ended.id, file.kind, %(host)s, file.path, file.size, file.sha256, file.truncated, file.tail
  FROM ended, jsonb_to_recordset(%(files)s) AS file
    (kind text, path text, size bigint, sha256 text, truncated boolean, tail text)
)
SELECT * FROM moved
