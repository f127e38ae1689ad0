"""Alembic and SQLAlchemy, set up for the migrations of this program."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import psycopg
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from statemachine.refusals import Refusal
from store.addresses import Address, complete, parse
from store.errors import refusal_for
from store.versions import migrations

_NEVER: Final = timedelta(0)  # a migration may take as long as it takes; waiting for a lock may not


def configured(*, output: io.StringIO | None = None) -> Config:
    """Configure Alembic for the migrations of this program, wherever it is run."""
    config = Config(output_buffer=output) if output is not None else Config()
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def opened(address: Address) -> Iterator[Connection]:
    """Open one SQLAlchemy transaction at the address, kept at the end of the block; refusals are our own."""
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(address.conninfo),
        poolclass=NullPool,
        use_native_hstore=False,
    )
    try:
        # no_parameters: a script may hold % and : and is sent as it stands
        with engine.connect().execution_options(no_parameters=True) as db, db.begin():
            yield db
    except DBAPIError as error:
        refusal = refusal_for(error.orig, closed=False) if isinstance(error.orig, psycopg.Error) else None
        if refusal is None:
            raise
        raise refusal from error
    finally:
        engine.dispose()


def migration_address(url: str) -> Address:
    """Read a URL as the address migrations run at: without a limit on statements."""
    return complete(parse(url), name="migration", statement_timeout=_NEVER)


def told(run: Callable[[], None]) -> None:
    """Run a command of Alembic and say its refusals as ours."""
    try:
        run()
    except CommandError as error:
        raise Refusal("no_such_revision", f"the schema cannot go there: {error}", hint="tasks db current") from error
