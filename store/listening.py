"""Listening: hints that something may be claimed or is to stop. Only hints: what nobody heard of is found by asking."""

import os
import select
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from store.engine import Connection
from store.rows import run

# The channels; what is sent on them is the number of a task and nothing else.
QUEUED: Final = "weighlock_queued"
STOP: Final = "weighlock_stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What there was to hear: a task became claimable, a run is asked to stop, somebody rang."""

    queued: bool
    stop: bool
    rang: bool


class Bell:
    """Wake the one thread that waits for hints: from any thread, and from the handler of a signal."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        self._there = True
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def fileno(self) -> int:
        """Name what becomes readable once it rang."""
        return self._out

    def ring(self) -> None:
        """Ring; takes no lock. A bell that is full has woken everybody already, one taken down has nobody to wake."""
        with suppress(BlockingIOError):
            if self._there:
                os.write(self._in, b".")

    def hush(self) -> bool:
        """Forget that it rang, and tell whether it did."""
        with suppress(BlockingIOError):
            return bool(os.read(self._out, 4096))
        return False

    def close(self) -> None:
        """Take it down, once nobody waits for it any more; by the thread that handles signals, if they ring it."""
        self._there = False
        os.close(self._in)
        os.close(self._out)


def listen(db: Connection) -> None:
    """Hear hints from here on, on a session of one's own; whatever came before is for the caller to look up now."""
    run(db, "listen_queued")
    run(db, "listen_stops")


def wait(db: Connection, bell: Bell, timeout: timedelta) -> Heard:
    """Wait for a hint, for the bell, or until the time is over; a hint that came in beside an answer is heard too."""
    channels = _channels(db)
    if not channels:
        _sleep(db, bell, timeout)
        channels = _channels(db)
    return Heard(queued=QUEUED in channels, stop=STOP in channels, rang=bell.hush())


def _channels(db: Connection) -> set[str]:
    return {notice.channel for notice in db.notifies(timeout=0)}


def _sleep(db: Connection, bell: Bell, timeout: timedelta) -> None:
    waiting = select.poll()
    waiting.register(db.fileno(), select.POLLIN)
    waiting.register(bell, select.POLLIN)
    waiting.poll(timeout / timedelta(milliseconds=1))
