"""Whether a database still enforces what the migrations and the models say.

Both are built aside in a schema of their own, described by the server in its own words, and rolled back:
a CHECK or a default reads the same only when the same server has parsed both.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from alembic import command
from sqlalchemy import Connection

from store.migrating import configured
from store.schema import metadata
from store.statements import statement

ASIDE: Final = "weighlock_check"

_EDGES: Final = (
    "SELECT format('edge task %s: %s -> %s by %s', event, source, dest, who) FROM task_edge",
    "SELECT format('edge %s: %s -> %s', noun, source, dest) FROM noun_edge",
)
_OF_TABLES: Final = ("column ", "constraint ", "index ")


def differences(db: Connection) -> list[str]:
    """List what the schema lacks or has beyond the migrations; empty means none. Changes nothing."""
    return _compare(_everything(db), _aside(db, _migrate, _everything))


def model_differences(db: Connection) -> list[str]:
    """List where the tables differ from the models; empty means none. Changes nothing."""
    return _compare(_tables(db), _aside(db, metadata.create_all, _tables))


def _compare(found: frozenset[str], wanted: frozenset[str]) -> list[str]:
    missing = [f"missing: {line}" for line in sorted(wanted - found)]
    return missing + [f"unexpected: {line}" for line in sorted(found - wanted)]


def _everything(db: Connection) -> frozenset[str]:
    edges = [line for query in _EDGES for line in db.exec_driver_sql(query).scalars()]
    return frozenset([*described(db), *edges])


def _tables(db: Connection) -> frozenset[str]:
    return frozenset(line for line in described(db) if line.startswith(_OF_TABLES))


def described(db: Connection) -> list[str]:
    """Describe the current schema, one line for everything it enforces."""
    return [str(line) for line in db.exec_driver_sql(statement("describe_schema")).scalars()]


def _migrate(db: Connection) -> None:
    config = configured()
    config.attributes["connection"] = db
    command.upgrade(config, "head")


def _aside(
    db: Connection, make: Callable[[Connection], None], describe: Callable[[Connection], frozenset[str]]
) -> frozenset[str]:
    with _schema(db):
        make(db)
        return describe(db)


@contextmanager
def _schema(db: Connection) -> Iterator[None]:
    savepoint = db.begin_nested()
    try:
        db.exec_driver_sql(f"CREATE SCHEMA {ASIDE}")
        db.exec_driver_sql(f"SET LOCAL search_path = {ASIDE}")
        yield
    finally:
        savepoint.rollback()
