-- Record a finding; the same fingerprint open on the same task is the same finding.
INSERT INTO finding (task_id, attempt_id, item_id, kind, summary, evidence, fingerprint, late, recorded_by)
VALUES (%(task)s, %(attempt)s, %(item)s, %(kind)s, %(summary)s, %(evidence)s, %(fingerprint)s, %(late)s, %(actor)s)
ON CONFLICT (task_id, fingerprint) WHERE state = 'open' DO NOTHING
RETURNING *
