-- Remember how one check ended on one head.
INSERT INTO check_result (task_id, attempt_id, head, command, exit_code, passed, tail)
VALUES (%(task)s, %(attempt)s, %(head)s, %(command)s, %(exit_code)s, %(passed)s, %(tail)s)
