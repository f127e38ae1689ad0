-- Open gates, oldest first: what waits for a person.
SELECT gate.*, task.title, task.state AS task_state, task.owed_findings, task.version AS task_version
FROM gate JOIN task ON task.id = gate.open_task
WHERE (%(kind)s::text IS NULL OR gate.kind = %(kind)s)
ORDER BY gate.opened_at, gate.id
LIMIT %(limit)s
