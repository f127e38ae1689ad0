-- Write a merge down before anything is pushed.
INSERT INTO merge_attempt (id, task_id, strategy, target, branch, old_tip, head, commit, actor, host, lease_expires)
VALUES (%(merge)s, %(task)s, %(strategy)s, %(target)s, %(branch)s, %(old_tip)s, %(head)s, %(commit)s, %(actor)s,
        %(host)s, clock_timestamp() + %(lease)s)
RETURNING *
