-- Remember what a person approved, so that it is not asked again while it is unchanged.
INSERT INTO approval (task_id, kind, gate_id, revision, item_id, digest, base, head, target, actor)
VALUES (%(task)s, %(kind)s, %(gate)s, %(revision)s, %(item)s, %(digest)s, %(base)s, %(head)s, %(target)s, %(actor)s)
