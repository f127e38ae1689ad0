"""The database as the other floors see it: transactions, single statements, sessions of one's own.

A transaction is visible where the work is decided (`with database.transaction() as db:`), and none
is open while any process runs. Verbs take the open connection and never commit.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Final

import psycopg

from statemachine.refusals import Refusal, Unavailable
from store.addresses import Address, complete, parse
from store.connections import Connection, Row, connect
from store.errors import Ambiguous, refusal_for
from store.pool import Pool
from store.versions import check_schema

if TYPE_CHECKING:
    from store.embedded import Server

__all__ = ["Address", "Connection", "Database", "Row", "open_database", "open_transactions"]

STATEMENT_TIMEOUT: Final = timedelta(seconds=10)
POOL_SIZE: Final = 16

_here = local()


def open_transactions() -> int:
    """Count the transactions this thread has open; zero whenever a process is started."""
    return getattr(_here, "open", 0)


class Database:
    """Lend connections to one database; safe to share between threads. Close it when done."""

    def __init__(self, address: Address, *, direct: Address, patience: timedelta, server: "Server | None") -> None:
        self.address = address
        self._direct = direct
        self._patience = patience
        self._server = server
        self._pool = Pool(lambda: self._connect(address), size=POOL_SIZE)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run the block in one READ COMMITTED transaction, committed at its end.

        Deferred constraints are heard before COMMIT, so what fails there always has a name; a connection
        lost at COMMIT is `Ambiguous`, one lost earlier is `connection_lost` and nothing was written.
        """
        with self._pool.lend() as db, _counted():
            db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            try:
                with _heard(db):
                    yield db
                _commit(db)
            except BaseException:
                _roll_back(db)
                raise

    def connection(self) -> AbstractContextManager[Connection]:
        """Lend an autocommit connection: one statement is one round trip and one commit."""
        return self._pool.lend()

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """Open an autocommit connection of one's own, outside the pool and past any pooler.

        For what lives as long as its connection: advisory locks, LISTEN, heartbeats.
        """
        db = self._connect(self._direct)
        try:
            with _heard(db):
                yield db
        finally:
            with suppress(psycopg.Error):
                db.close()

    def close(self) -> None:
        """Close idle connections; the last user of an embedded server stops it."""
        self._pool.close()
        if self._server is not None:
            self._server.leave()

    def _connect(self, address: Address) -> Connection:
        try:
            return connect(address, patience=self._patience)
        except Unavailable as refusal:
            # Nobody watches over an embedded server: whoever misses it starts it again.
            if self._server is None or refusal.code != "database_unreachable" or not self._server.revive():
                raise
        return connect(address, patience=self._patience)


def open_database(
    url: str | None,
    *,
    state: Path,
    name: str,
    patience: timedelta,
    direct_url: str | None = None,
    statement_timeout: timedelta = STATEMENT_TIMEOUT,
) -> Database:
    """Open the database at `url`, or the embedded one under `state`: started and migrated where needed.

    `name` becomes part of application_name. `patience` bounds how long a server that does not answer is
    waited for. Raises `Unavailable` where it stays silent or its schema is not the one this program knows.
    """
    server = None
    if url is None:
        from store import embedded  # noqa: PLC0415 - only who has no server of its own pays for it

        server = embedded.attach(state, patience=patience)
        url = server.url
    address = complete(parse(url), name=name, statement_timeout=statement_timeout)
    direct = complete(parse(direct_url or url), name=name, statement_timeout=statement_timeout)
    database = Database(address, direct=direct, patience=patience, server=server)
    try:
        with database.connection() as db:
            check_schema(db)
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def _counted() -> Iterator[None]:
    _here.open = open_transactions() + 1
    try:
        yield
    finally:
        _here.open -= 1


@contextmanager
def _heard(db: Connection) -> Iterator[None]:
    # Statements speak for themselves; this is for what is not one (COPY, notifications, pipelines).
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        refusal = refusal_for(error, closed=db.closed)
        if refusal is None:
            raise
        raise refusal from error


def _commit(db: Connection) -> None:
    try:
        db.execute("SET CONSTRAINTS ALL IMMEDIATE; COMMIT", prepare=False)
    except Unavailable as unavailable:
        if unavailable.code != "connection_lost":
            raise
        raise Ambiguous from unavailable


def _roll_back(db: Connection) -> None:
    # Whatever this says is less important than what is being raised; a connection left in doubt is
    # not taken back by the pool.
    with suppress(psycopg.Error, Refusal):
        if not db.closed:
            db.execute("ROLLBACK")
