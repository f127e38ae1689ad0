"""Columns by what they hold, so that a table reads as a list of words.

Nothing here gives a value in Python: the database's defaults and its clock do.
"""
# ruff: noqa: ANN401 - a field has the type written beside it

from typing import Any, Final

from sqlalchemy import ARRAY, BigInteger, Boolean, Column, Computed, Identity, Integer, MetaData, Text, text
from sqlalchemy.dialects.postgresql import INTERVAL, JSONB, TIMESTAMP, UUID
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, SQLModel

_NOW: Final = "now()"


class Table(SQLModel):
    """Keep all tables in one metadata of our own; constraints are named where they stand."""

    metadata = MetaData(naming_convention={"pk": "%(table_name)s_pkey"})


def words(*, default: str | None = None, null: bool = False, key: bool = False) -> Any:
    """Hold text; states and kinds too, never a native enum."""
    return _column(Text(), None if default is None else f"'{default}'", null=null, key=key)


def user() -> Any:
    """Hold the database role that wrote the row."""
    return _column(Text(), "CURRENT_USER")


def names() -> Any:
    """Hold a list of words."""
    return _column(ARRAY(Text()))


def whole(*, default: int | None = None, null: bool = False, key: bool = False) -> Any:
    """Hold a number of things."""
    return _column(Integer(), None if default is None else str(default), null=null, key=key)


def big(*, null: bool = False, key: bool = False) -> Any:
    """Hold a row's number, or a size in bytes."""
    return _column(BigInteger(), null=null, key=key)


def numbered() -> Any:
    """Number the rows of this table; nobody else may."""
    return Field(default=None, sa_column=Column(BigInteger, Identity(always=True), primary_key=True))


def unique(*, null: bool = False) -> Any:
    """Hold the uuid of another row, or of something outside."""
    return _column(UUID(), null=null)


def own_uuid() -> Any:
    """Give each row of this table a uuid."""
    return Field(default=None, sa_column=Column(UUID, primary_key=True, server_default=text("gen_random_uuid()")))


def flag(*, default: bool | None = None) -> Any:
    """Hold yes or no."""
    return _column(Boolean(), None if default is None else str(default).lower())


def moment(*, now: bool = False, null: bool = False) -> Any:
    """Hold a time by the database's clock, always with its zone."""
    return _column(TIMESTAMP(timezone=True), _NOW if now else None, null=null)


def span(*, default: str | None = None, null: bool = False) -> Any:
    """Hold a duration."""
    return _column(INTERVAL(), None if default is None else f"'{default}'", null=null)


def document(*, default: str | None = None, null: bool = False) -> Any:
    """Hold JSON; None is an absent value, never JSON's own null."""
    return _column(JSONB(none_as_null=True), None if default is None else f"'{default}'", null=null)


def computed(kind: TypeEngine[Any], expression: str) -> Any:
    """Hold what the database computes from the row, stored so that a foreign key can use it."""
    return Field(default=None, sa_column=Column(kind, Computed(expression, persisted=True), nullable=True))


def _column(kind: TypeEngine[Any], default: str | None = None, *, null: bool = False, key: bool = False) -> Any:
    server_default = None if default is None else text(default)
    column: Column[Any] = Column(
        kind, primary_key=key, autoincrement=False, nullable=null, server_default=server_default
    )
    return Field(sa_column=column) if default is None and not null else Field(default=None, sa_column=column)
