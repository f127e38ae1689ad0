"""The scene of a recovery pass: whose it is, where it looks, and what its repairs share."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from store import workers
from store.engine import Database
from workspace.commits import Identity
from workspace.hosts import Host, gone
from workspace.roots import Root

# One tree at a time, each step bounded (end 30 s, inspect 120 s, export 60 s): one lease outlasts them all.
LEASE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One pass of one process; `worker` gives the row that takes leases, made when the first one is taken."""

    database: Database
    root: Root
    host: Host
    actor: str
    identity: Identity
    worker: Callable[[], int]

    def proven_dead(self, *, worker: int, process: Host) -> bool:
        """Tell whether a process of this host is gone for certain: its pid and start time, and its sign of life."""
        if process.id != self.host.id or not gone(process):
            return False
        with self.database.session() as db:
            return workers.lock_is_free(db, worker)
