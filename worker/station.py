"""The station: what every step of a worker's work has in common."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from store.engine import Database
from worker.leases import Heartbeat
from worker.settings import WorkSettings
from workspace.agents.hosts import Host
from workspace.disk.roots import Root
from workspace.results.commits import Identity


class Sign:
    """A sign that is put up once. Not an event: its lock would be taken twice where one signal interrupts another."""

    def __init__(self) -> None:
        self._up = False

    def set(self) -> None:
        """Put it up."""
        self._up = True

    def is_set(self) -> bool:
        """Tell whether it is up."""
        return self._up


class Call:
    """What wakes the thread that claims: a hint, a task that came to rest, the first word of a signal."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def make(self) -> None:
        """Call; one call more while one is unheard changes nothing."""
        self._event.set()

    def wait(self, timeout: timedelta) -> None:
        """Wait for a call. What comes from here on is another one: look around afterwards, never before."""
        self._event.wait(max(0.0, timeout.total_seconds()))
        self._event.clear()


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
    draining: Sign
    call: Call = field(default_factory=Call)

    @property
    def actor(self) -> str:
        """Name this worker in a task's history."""
        return f"worker:{self.settings.name}"

    @property
    def identity(self) -> Identity:
        """Name whom commits are by."""
        return Identity(*self.settings.identity) if self.settings.identity else Identity()
