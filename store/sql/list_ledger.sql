-- A task's ledger in order, discarded rows included.
SELECT * FROM commit_ledger WHERE task_id = %(task)s ORDER BY id
