"""Recovery beside the claims: what is handed in is run now and then, and asked to stop when the worker leaves."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from statemachine.refusals import Refusal
from worker.station import Station

EVERY: Final = timedelta(seconds=15)

Recover = Callable[[Callable[[], bool]], object]
"""One pass; the function it is handed tells whether to stop before the next row."""


class Recovery:
    """Run passes, never two at once; one that failed is told and comes again."""

    def __init__(self, station: Station, recover: Recover) -> None:
        self._station = station
        self._recover = recover
        self._leaving = False
        self._due = time.monotonic() + EVERY.total_seconds()
        self._thread: threading.Thread | None = None

    def run_when_due(self) -> None:
        """Begin a pass where it is time and none is under way."""
        if time.monotonic() < self._due or (self._thread and self._thread.is_alive()):
            return
        self._due = time.monotonic() + EVERY.total_seconds()
        self._thread = threading.Thread(target=self._pass, name="recovery", daemon=True)
        self._thread.start()

    def end(self, until: float) -> None:
        """Have a pass stop before its next row, and await that; a row cut short is found by the next pass anywhere."""
        self._leaving = True
        if self._thread is None:
            return
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            raise Refusal("recovery_unfinished", "a recovery pass did not end in time; the next one goes on")

    def _pass(self) -> None:
        try:
            self._recover(self._stopping)
        except Refusal as refused:
            self._station.say(f"recovery: {refused.message} [{refused.code}]; trying again")

    def _stopping(self) -> bool:
        return self._leaving or self._station.draining.is_set()
