-- The latest result of each check on one head.
SELECT DISTINCT ON (command) command, exit_code, passed, tail, at, attempt_id FROM check_result
WHERE task_id = %(task)s AND head = %(head)s AND voided_at IS NULL
ORDER BY command, id DESC
