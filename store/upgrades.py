"""Migrations run by the program itself, from a checkout or an installed wheel, one process at a time.

Everything a run changes is one transaction. Alembic and SQLAlchemy are imported by whoever imports this.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic, sleep
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection as SqlConnection

from statemachine.refusals import LostRace
from store import drift
from store.addresses import Address
from store.connections import Connection, connect
from store.migrating import configured, migration_address, opened, told
from store.roles import APP, grant
from store.versions import check_known, check_schema, installed_version, known_versions

PATIENCE: Final = timedelta(seconds=60)

KEY: Final = 0x7765_6967_686C_6F63  # "weighloc": the advisory lock of whoever changes the schema
_PAUSE: Final = 0.2

_HOLDER: Final = """
SELECT activity.pid, activity.application_name AS name, activity.backend_start AS since
FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (held.classid::bigint << 32) + held.objid::bigint = %s
"""


def upgrade(url: str, *, to: str = "head", patience: timedelta = PATIENCE) -> None:
    """Bring the schema up to `to`; what is there already is left as it is."""
    with _alone(url, patience) as (address, installed), _migrating(address) as (config, db):
        check_known(installed)
        told(lambda: command.upgrade(config, to))
        if db.exec_driver_sql(f"SELECT to_regrole('{APP}') IS NOT NULL").scalar():
            grant(db.exec_driver_sql)


def downgrade(url: str, *, to: str, patience: timedelta = PATIENCE) -> None:
    """Take the schema back to `to` (`base`: away altogether), with the rows only it can hold."""
    with _alone(url, patience) as (address, installed), _migrating(address) as (config, _):
        check_known(installed)
        told(lambda: command.downgrade(config, to))


def current(url: str) -> str | None:
    """Read the revision of the schema; None where there is none."""
    with connect(migration_address(url)) as db:
        return installed_version(db)


def check(url: str) -> list[str]:
    """List where the schema differs from the migrations and the models; empty means nowhere. Changes nothing.

    The user of the URL must be allowed to make a schema aside, as the owner of the database is.
    """
    address = migration_address(url)
    with connect(address) as db:
        check_schema(db)
    with opened(address) as db:
        return drift.differences(db) + drift.model_differences(db)


def newest() -> str:
    """Name the revision this program brings a schema to."""
    return known_versions()[-1]


def upgrade_sql(*, start: str | None = None, to: str = "head") -> str:
    """Write what `upgrade` would run, from an empty database or from revision `start`, for who runs SQL by hand."""
    written = io.StringIO()
    config = configured(output=written)
    told(lambda: command.upgrade(config, f"{start}:{to}" if start else to, sql=True))
    return written.getvalue()


@contextmanager
def _migrating(address: Address) -> Iterator[tuple[Config, SqlConnection]]:
    with opened(address) as db:
        config = configured()
        config.attributes["connection"] = db
        yield config, db


@contextmanager
def _alone(url: str, patience: timedelta) -> Iterator[tuple[Address, str | None]]:
    # A session lock on a connection of its own: a transaction's lock would end with the first COMMIT,
    # and a blocking one would wait without a word.
    address = migration_address(url)
    with connect(address) as db:
        deadline = monotonic() + patience.total_seconds()
        while not _locked(db):
            if monotonic() > deadline:
                raise _busy(db, patience)
            sleep(_PAUSE)
        yield address, installed_version(db)


def _locked(db: Connection) -> bool:
    row = db.execute("SELECT pg_try_advisory_lock(%s) AS locked", (KEY,)).fetchone()
    return bool(row and row["locked"])


def _busy(db: Connection, patience: timedelta) -> LostRace:
    holder = db.execute(_HOLDER, (KEY,)).fetchone() or {"pid": "?", "name": "?", "since": "?"}
    return LostRace(
        "upgrade_in_progress",
        f"the schema is being changed by {holder['name'] or 'somebody'} (pid {holder['pid']}, since {holder['since']});"
        f" waited {patience.total_seconds():g} seconds",
        hint=f"wait for it, or end it: SELECT pg_terminate_backend({holder['pid']})",
        **holder,
    )
