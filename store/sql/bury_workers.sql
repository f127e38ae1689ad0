-- Say of processes that are gone that they are; when they were last heard of stays.
UPDATE worker SET state = 'gone', gone_at = clock_timestamp() WHERE id = ANY(%(workers)s) AND state <> 'gone'
