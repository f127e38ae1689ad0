-- What time it is for every row: the database's clock, whichever host asks.
SELECT clock_timestamp() AS now
