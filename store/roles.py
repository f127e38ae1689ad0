"""Who owns the embedded database and who works in it: the product is neither superuser nor owner."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import errors, sql

SUPERUSER: Final = "postgres"
OWNER: Final = "weighlock_owner"
APP: Final = "weighlock_app"
DATABASE: Final = "weighlock"
PORT: Final = "5432"  # only the name of the socket's file: an embedded server listens on no network

_GRANTS: Final = (
    f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {APP}",
    f"REVOKE INSERT, UPDATE ON task_edge, noun_edge, alembic_version FROM {APP}",
    f"GRANT DELETE ON output TO {APP}",
)


def provision(admin: psycopg.Connection, database: str = DATABASE) -> None:
    """Make the two roles and the database where they are missing; `admin` is a superuser in autocommit."""
    for role, login in ((OWNER, "NOLOGIN"), (APP, "LOGIN")):
        if admin.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).rowcount == 0:
            with suppress(errors.DuplicateObject, errors.UniqueViolation):  # somebody else was faster
                admin.execute(f"CREATE ROLE {role} {login}")
    if admin.execute("SELECT FROM pg_database WHERE datname = %s", (database,)).rowcount == 0:
        name = sql.Identifier(database)
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(name, sql.Identifier(OWNER)))


def grant(execute: Callable[[str], object]) -> None:
    """Let the product read all, add and change rows, and remove what may be pruned.

    Runs in the transaction that migrates, so that no table is ever there without its grants.
    """
    for line in _GRANTS:
        execute(line)
