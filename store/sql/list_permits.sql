-- Fingerprints a person permitted for an item while its declared files are what they were.
WITH declared AS (
  SELECT number, jsonb_path_query_array(document, '$.items[*] ? (@.id == $id).files',
                                        jsonb_build_object('id', %(item)s::text)) AS files
  FROM plan_revision WHERE task_id = %(task)s
)
SELECT DISTINCT finding.fingerprint FROM finding
JOIN attempt ON attempt.id = finding.attempt_id
JOIN declared seen ON seen.number = attempt.revision
JOIN declared now ON now.number = %(revision)s
WHERE finding.task_id = %(task)s AND finding.item_id = %(item)s AND finding.state = 'dismissed' AND finding.permit
  AND seen.files = now.files
