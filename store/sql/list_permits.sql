-- Fingerprints a person permitted for an item while its declared files are what they were.
SELECT DISTINCT finding.fingerprint FROM finding
JOIN attempt ON attempt.id = finding.attempt_id
JOIN plan_item seen ON seen.task_id = attempt.task_id AND seen.revision = attempt.revision
                   AND seen.item_id = attempt.item_id
JOIN plan_item now ON now.task_id = finding.task_id AND now.revision = %(revision)s AND now.item_id = %(item)s
WHERE finding.task_id = %(task)s AND finding.item_id = %(item)s AND finding.state = 'dismissed' AND finding.permit
  AND seen.digest = now.digest
