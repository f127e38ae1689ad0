-- Record findings in the order they were seen; the same fingerprint open on the same task is the same finding.
INSERT INTO finding (task_id, attempt_id, item_id, kind, summary, evidence, fingerprint, late, recorded_by)
SELECT %(task)s, %(attempt)s, %(item)s, seen.kind, seen.summary, seen.evidence, seen.fingerprint, %(late)s, %(actor)s
FROM ROWS FROM (jsonb_to_recordset(%(found)s) AS (kind text, summary text, evidence jsonb, fingerprint text))
  WITH ORDINALITY AS seen (kind, summary, evidence, fingerprint, place)
ORDER BY seen.place
ON CONFLICT (task_id, fingerprint) WHERE state = 'open' DO NOTHING
RETURNING *
