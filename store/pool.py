"""A few open connections, lent one at a time.

psycopg_pool reconnects in the background with growing pauses: a caller would wait for its clock and
be told "no connection in time". Here whoever needs a connection makes it, and hears why it failed.
"""

import select
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from queue import Empty, SimpleQueue
from time import monotonic
from types import TracebackType
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from statemachine.refusals import Unavailable
from store.connections import Connection
from store.errors import refusal_for

WAIT: Final = timedelta(seconds=10)
# A statement prepared while a table was empty keeps its sequential scan until statistics change or
# the session ends; an age limit ends it.
LIFETIME: Final = timedelta(minutes=10)


class Pool:
    """Lend connections made by `connect`; at most `size` at once, the last one returned first."""

    def __init__(self, connect: Callable[[], Connection], *, size: int) -> None:
        self._connect = connect
        self._size = size
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(size):
            self._free.put(None)
        self._idle: deque[Loan] = deque()
        self._closed = False

    def lend(self) -> "Loan":
        """Lend one connection for the block this begins; a broken or busy one is not taken back."""
        try:
            self._free.get(timeout=WAIT.total_seconds())
        except Empty:
            raise Unavailable(
                "connections_exhausted",
                f"all {self._size} database connections of this process stayed busy for {WAIT.seconds} seconds",
                hint="run fewer tasks at once (--slots)",
            ) from None
        try:
            return self._usable()
        except BaseException:
            self._free.put(None)
            raise

    def take_back(self, loan: "Loan") -> None:
        """Keep a connection for whoever is next, unless something is wrong with it."""
        try:
            if self._closed or loan.db.pgconn.transaction_status != TransactionStatus.IDLE:
                loan.db.close()
            else:
                self._idle.append(loan)
        finally:
            self._free.put(None)

    def close(self) -> None:
        """Close what is idle now; what is lent is closed when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop().db.close()

    def _usable(self) -> "Loan":
        while True:
            try:
                loan = self._idle.pop()
            except IndexError:
                return Loan(self, self._connect())
            if loan.usable():
                return loan
            loan.db.close()


class Loan:
    """A connection, lent for one block after the other; a class, because every statement of ours passes here."""

    __slots__ = ("_poll", "_pool", "_until", "db")

    def __init__(self, pool: Pool, db: Connection) -> None:
        self.db = db
        self._pool = pool
        self._until = monotonic() + LIFETIME.total_seconds()
        self._poll = select.poll()
        self._poll.register(db.fileno(), select.POLLIN)

    def usable(self) -> bool:
        """Tell whether it is young and idle."""
        # An idle connection has nothing to read. If it has, the server said goodbye (restart, termination):
        # seen here for a microsecond instead of a round trip.
        return monotonic() < self._until and not self._poll.poll(0)

    def __enter__(self) -> Connection:
        return self.db

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back; what the database refused in words of its own (COPY, notifications) is said in ours."""
        refusal = None
        if isinstance(error, (psycopg.Error, UnicodeEncodeError)):
            refusal = refusal_for(error, closed=self.db.closed)
        self._pool.take_back(self)
        if refusal is not None:
            raise refusal from error
