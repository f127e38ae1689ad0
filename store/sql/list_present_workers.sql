-- Processes of a host that did not say that they are gone.
SELECT * FROM worker WHERE host = %(host)s AND state <> 'gone' ORDER BY id
