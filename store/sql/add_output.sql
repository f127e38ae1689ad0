-- Name a file that holds what an attempt said or left.
INSERT INTO output (attempt_id, kind, host, path, size, sha256, truncated, tail)
VALUES (%(attempt)s, %(kind)s, %(host)s, %(path)s, %(size)s, %(sha256)s, %(truncated)s, %(tail)s)
ON CONFLICT (attempt_id, kind) DO UPDATE SET host = excluded.host, path = excluded.path, size = excluded.size,
  sha256 = excluded.sha256, truncated = excluded.truncated, tail = excluded.tail
