-- Hear of tasks whose run is asked to stop, for as long as this connection lives.
LISTEN weighlock_stop
