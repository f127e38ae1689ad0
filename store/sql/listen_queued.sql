-- Hear of tasks that became claimable, for as long as this connection lives.
LISTEN weighlock_queued
