"""One connection: opened with our settings, and every refusal of the database turned into a domain error."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, Final, Self, TypeAlias

import psycopg
from psycopg.abc import Params, QueryNoTemplate
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from statemachine.refusals import Refusal, Unavailable
from store.addresses import Address
from store.errors import Ambiguous, refusal_for, unreachable

Row: TypeAlias = dict[str, Any]
"""A row by column name; verbs turn it into a frozen value before it leaves the store."""

Connection: TypeAlias = psycopg.Connection[Row]

_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0


class Cursor(psycopg.Cursor[Any]):
    """Say every refusal of the database as a `Refusal`, at the statement that caused it."""

    def execute(  # type: ignore[override]  # template strings are of a later Python
        self,
        query: QueryNoTemplate,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> Self:
        """Run one statement. A connection lost outside a transaction is `Ambiguous`: it may have been done."""
        open_before = self.connection.pgconn.transaction_status != TransactionStatus.IDLE
        try:
            return super().execute(query, params, prepare=prepare, binary=binary)
        except (psycopg.Error, UnicodeEncodeError) as error:
            refusal = refusal_for(error, closed=self.connection.closed)
            if refusal is None:
                raise
            if refusal.code == "connection_lost" and not open_before:
                refusal = Ambiguous()
            raise refusal from error


def connect(address: Address, *, patience: timedelta = timedelta(0)) -> Connection:
    """Open a connection, trying again until `patience` is over where the server is only not up yet."""
    return persist(lambda: _open(address), patience)


def persist(attempt: Callable[[], Connection], patience: timedelta) -> Connection:
    """Call `attempt` until it answers, its refusal is final, or `patience` is over."""
    deadline = monotonic() + patience.total_seconds()
    pause = _PAUSE
    while True:
        try:
            return attempt()
        except Unavailable as refusal:
            if refusal.code != "database_unreachable" or monotonic() + pause > deadline:
                raise
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _open(address: Address) -> Connection:
    try:
        # prepare_threshold=0: prepared at first use, or a statement costs half as much again.
        db = psycopg.Connection[Row].connect(
            address.conninfo,
            autocommit=True,
            prepare_threshold=0,
            row_factory=dict_row,
            cursor_factory=Cursor,
        )
    except psycopg.Error as error:
        raise unreachable(error, str(address)) from error
    try:
        _overrule_environment(db)
    except Refusal:
        with suppress(psycopg.Error):
            db.close()
        raise
    return db


def _overrule_environment(db: Connection) -> None:
    # PGTZ and PGDATESTYLE of the caller's environment beat the options of the connection.
    if db.info.parameter_status("TimeZone") != "UTC":
        db.execute("SET TimeZone = 'UTC'")
    if not (db.info.parameter_status("DateStyle") or "").startswith("ISO"):
        db.execute("SET DateStyle = 'ISO'")
