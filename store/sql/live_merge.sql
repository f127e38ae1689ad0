-- The merge of a task that is being submitted.
SELECT * FROM merge_attempt WHERE task_id = %(task)s AND state = 'submitting'
