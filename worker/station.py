"""The station: what every step of a worker's work has in common."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from store.engine import Database
from worker.leases import Heartbeat
from worker.settings import WorkSettings
from workspace.agents.hosts import Host
from workspace.disk.roots import Root
from workspace.results.commits import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """One worker process: its row, its lease keeper, its disk, and the sign that it is to end."""

    database: Database
    root: Root
    settings: WorkSettings
    host: Host
    worker: int
    heartbeat: Heartbeat
    say: Callable[[str], None]
    draining: threading.Event = field(default_factory=threading.Event)

    @property
    def actor(self) -> str:
        """Name this worker in a task's history."""
        return f"worker:{self.settings.name}"

    @property
    def identity(self) -> Identity:
        """Name whom commits are by."""
        return Identity(*self.settings.identity) if self.settings.identity else Identity()
