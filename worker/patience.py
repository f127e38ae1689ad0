"""Patience: do what must be written, again and again while the database is away, until the lease is surely gone."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from statemachine.refusals import LostRace, Unavailable
from worker.leases import Lease

Answer = TypeVar("Answer")

_FIRST_PAUSE: Final = timedelta(milliseconds=100)
_LONGEST_PAUSE: Final = timedelta(seconds=5)


def surely(lease: Lease, act: Callable[[], Answer]) -> Answer:
    """Do something that is safe to repeat until it is done; raises `LeaseLost` once somebody else may be doing it."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return act()
        except (Unavailable, LostRace):
            lease.check()
            threading.Event().wait(pause.total_seconds())
            pause = min(pause * 2, _LONGEST_PAUSE)
