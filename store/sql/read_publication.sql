-- The refs a task's rows ask for: base, live head, discarded commits, and attempts whose refs have served.
SELECT task.id AS task, task.lease_epoch AS epoch, repository.runner, task.base, task.head,
       (SELECT coalesce(jsonb_object_agg(attempt_id::text, commit), '{}') FROM commit_ledger
        WHERE task_id = task.id AND state = 'discarded' AND commit IS NOT NULL) AS discarded,
       ARRAY(SELECT id FROM attempt WHERE task_id = task.id AND ended_at IS NOT NULL ORDER BY number) AS settled
FROM task JOIN repository ON repository.id = task.repository_id
WHERE task.id = %(task)s
