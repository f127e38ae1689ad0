-- Record that an item went out of its scope, with what a person will be asked to approve.
INSERT INTO pause (task_id, attempt_id, revision, item_id, head, tree, done, out_of_scope)
VALUES (%(task)s, %(attempt)s, %(revision)s, %(item)s, %(head)s, %(tree)s,
        ARRAY(SELECT item_id FROM commit_ledger WHERE task_id = %(task)s AND state = 'live' ORDER BY id),
        %(out_of_scope)s)
RETURNING *
