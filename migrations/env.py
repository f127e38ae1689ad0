"""Run migrations on the connection the program gives, or for a developer on TASKS_DATABASE_URL."""
# ruff: noqa: INP001 - Alembic runs this file by its path

import os

from alembic import context
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from store.schema import metadata


def run_offline() -> None:
    """Write SQL instead of running it; named parameters, or every % would be doubled."""
    context.configure(dialect_name="postgresql", target_metadata=metadata, dialect_opts={"paramstyle": "named"})
    with context.begin_transaction():
        context.run_migrations()


def run_online(connection: Connection) -> None:
    """Run in the transaction of the connection; all migrations of a run are kept, or none."""
    context.configure(connection=connection, target_metadata=metadata, compare_type=True, compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if context.is_offline_mode():
    run_offline()
elif given is not None:
    run_online(given)
else:
    url = os.environ["TASKS_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1)
    with create_engine(url, poolclass=NullPool).begin() as own:
        run_online(own.execution_options(no_parameters=True))
