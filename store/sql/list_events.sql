-- A task's history, with the plan revisions that moved nothing in their place.
SELECT at, event, source, dest, actor, role, epoch, attempt_id, reason FROM task_event WHERE task_id = %(task)s
UNION ALL
SELECT made_at, 'plan_revision', made_in, made_in, made_by, '', 0, NULL, 'revision ' || number || ' (' || cause || ')'
FROM plan_revision WHERE task_id = %(task)s AND number > 1
UNION ALL
SELECT ended_at, 'attempt_' || state, '', '', 'attempt', '', epoch, id, coalesce(nullif(failure, ''), first_reason, '')
FROM attempt WHERE task_id = %(task)s AND ended_at IS NOT NULL
UNION ALL
SELECT decided_at, 'gate_' || state, kind, '', decided_by, '', 0, NULL, comment
FROM gate WHERE task_id = %(task)s AND decided_at IS NOT NULL
UNION ALL
SELECT decided_at, 'finding_' || state, kind, '', decided_by, '', 0, attempt_id, reason
FROM finding WHERE task_id = %(task)s AND decided_at IS NOT NULL
ORDER BY at
