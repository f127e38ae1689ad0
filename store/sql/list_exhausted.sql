-- Queued tasks whose budget is spent.
SELECT * FROM task
WHERE state = 'queued' AND budget IS NOT NULL AND spent >= budget AND id > %(after)s
ORDER BY id
LIMIT %(limit)s
