-- One plan revision.
SELECT * FROM plan_revision WHERE task_id = %(task)s AND number = %(number)s
