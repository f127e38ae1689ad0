-- Queued tasks whose budget is spent.
SELECT * FROM task WHERE state = 'queued' AND budget IS NOT NULL AND spent >= budget ORDER BY id
