"""A few open connections, lent one at a time.

psycopg_pool reconnects in the background with growing pauses: a caller would wait for its clock and
be told "no connection in time". Here whoever needs a connection makes it, and hears why it failed.
"""

import select
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import BoundedSemaphore
from time import monotonic
from typing import Final

from psycopg.pq import TransactionStatus

from statemachine.refusals import Unavailable
from store.connections import Connection

WAIT: Final = timedelta(seconds=10)
# A statement prepared while a table was empty keeps its sequential scan until statistics change or
# the session ends; an age limit ends it.
LIFETIME: Final = timedelta(minutes=10)


class Pool:
    """Lend connections made by `connect`; at most `size` at once, the last one returned first."""

    def __init__(self, connect: Callable[[], Connection], *, size: int) -> None:
        self._connect = connect
        self._size = size
        self._free = BoundedSemaphore(size)
        self._idle: deque[tuple[Connection, float]] = deque()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend one connection for the block; a broken or busy one is not taken back."""
        if not self._free.acquire(timeout=WAIT.total_seconds()):
            raise Unavailable(
                "connections_exhausted",
                f"all {self._size} database connections of this process stayed busy for {WAIT.seconds} seconds",
                hint="run fewer tasks at once (--slots)",
            )
        try:
            db, until = self._usable()
            try:
                yield db
            finally:
                self._take_back(db, until)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close what is idle now; what is lent is closed when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop()[0].close()

    def _usable(self) -> tuple[Connection, float]:
        while True:
            try:
                db, until = self._idle.pop()
            except IndexError:
                return self._connect(), monotonic() + LIFETIME.total_seconds()
            if monotonic() < until and _quiet(db):
                return db, until
            db.close()

    def _take_back(self, db: Connection, until: float) -> None:
        if self._closed or db.closed or db.info.transaction_status is not TransactionStatus.IDLE:
            db.close()
        else:
            self._idle.append((db, until))


def _quiet(db: Connection) -> bool:
    # An idle connection has nothing to read. If it has, the server said goodbye (restart, termination):
    # seen here for two microseconds instead of a round trip.
    poll = select.poll()
    poll.register(db.fileno(), select.POLLIN)
    return not poll.poll(0)
