"""Run a named statement and give back frozen, typed rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from psycopg import Connection as AnyConnection
from psycopg import Cursor
from psycopg.types.json import Jsonb

from statemachine.texts import clean
from store.statements import statement

Row = TypeVar("Row")

# A document that came from outside is bounded where it is made; this only keeps one text from filling a column.
_LONGEST_TEXT = 1_000_000
_LONGEST_SAID = 4_000


def one(db: AnyConnection[Any], row: type[Row], name: str, /, **values: object) -> Row | None:
    """Run `store/sql/<name>.sql` and give its first row, or none."""
    return _kept(db, row, name).execute(statement(name), values).fetchone()


def many(db: AnyConnection[Any], row: type[Row], name: str, /, **values: object) -> list[Row]:
    """Run `store/sql/<name>.sql` and give all its rows."""
    with db.cursor(row_factory=_factory(row)) as cursor:
        return cursor.execute(statement(name), values).fetchall()


def run(db: AnyConnection[Any], name: str, /, **values: object) -> int:
    """Run `store/sql/<name>.sql` for its effect and say how many rows it touched."""
    return db.execute(statement(name), values).rowcount


def said(text: str) -> str:
    """Make a reason, a comment or a title from outside fit for a column, and of a length a person can read."""
    return clean(text, _LONGEST_SAID)


def document(value: object) -> Jsonb:
    """Make a JSON value fit for a jsonb column, whatever text an agent put into it."""
    return Jsonb(_storable(value))


def _storable(value: object) -> object:
    if isinstance(value, str):
        return clean(value, _LONGEST_TEXT)
    if isinstance(value, Mapping):
        return {clean(str(key), _LONGEST_TEXT): _storable(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_storable(entry) for entry in value]
    return value


def _kept(db: AnyConnection[Any], row: type[Row], name: str) -> Cursor[Row]:
    # A cursor that runs one statement again and again knows how its values are written and read; finding that out
    # anew takes a third of the call's time. It is gone with its connection.
    kept: dict[tuple[str, type], Cursor[Row]] = vars(db).setdefault("_kept", {})
    kind: type = row
    if (cursor := kept.get((name, kind))) is None:
        cursor = kept[name, kind] = db.cursor(row_factory=_factory(kind))
    return cursor


def _factory(kind: type) -> Callable[[Cursor[Any]], Callable[[Sequence[Any]], Any]]:
    """Make rows for one cursor; it looks at the columns again only where their number changed."""
    make: Callable[[Sequence[Any]], Any] = tuple
    seen = -1

    def maker(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], Any]:
        nonlocal make, seen
        result = cursor.pgresult
        if result is not None and result.nfields != seen:
            # Not cursor.description: it makes an object for each column, a quarter of the whole call's time.
            seen = result.nfields
            make = _make(kind, tuple(map(result.fname, range(seen))))
        return make

    return maker


@cache
def _make(kind: type, columns: tuple[bytes | None, ...]) -> Callable[[Sequence[Any]], Any]:
    names = [column.decode() for column in columns if column is not None]
    if sorted(names) != sorted(field.name for field in fields(kind)):
        raise TypeError(f"a row of {kind.__name__} has other columns than {', '.join(names)}")
    words = _words(kind)
    coded = [(place, words[name]) for place, name in enumerate(names) if name in words]
    # Slot by slot: the initialiser of a frozen row of 34 columns takes three times as long.
    slots = [getattr(kind, name).__set__ for name in names]

    def make(values: Sequence[Any]) -> object:
        typed = list(values)
        for place, members in coded:
            typed[place] = members[typed[place]]
        made: object = object.__new__(kind)
        for put, value in zip(slots, typed, strict=True):
            put(made, value)
        return made

    return make


def _words(row: type) -> dict[str, dict[str | None, StrEnum | None]]:
    """Find the columns of a row that are words of a closed vocabulary, and the member for each word."""
    vocabularies = {name: _vocabulary(hint) for name, hint in get_type_hints(row).items()}
    return {name: {None: None, **{each.value: each for each in word}} for name, word in vocabularies.items() if word}


def _vocabulary(hint: Any) -> type[StrEnum] | None:  # noqa: ANN401 - a type hint has no better type
    for part in get_args(hint) or (hint,):
        if isinstance(part, type) and issubclass(part, StrEnum):
            return part
    return None
