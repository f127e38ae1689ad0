"""A change manifest as frozen values, each field checked before any is used; the first bad one is named."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from statemachine.texts import quote

T = TypeVar("T")
Json = Mapping[str, object]
_HEX: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LARGEST: Final = 2**63 - 1
_NAME: Final = re.compile("[a-z_]{1,60}")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_BYTES: Final = re.compile("[\udc80-\udcff]")


class Malformed(Exception):  # noqa: N818 - becomes a finding, never a traceback
    """Name the first field that is not what it must be."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Fields:
    """Read the fields of one JSON object; none may be missing, unknown or of another type."""

    values: Json
    place: str = ""

    @classmethod
    def of(cls, value: object, place: str, known: Sequence[str]) -> "Fields":
        """Take a value that must be an object with no field beside the known ones."""
        if not isinstance(value, Mapping):
            raise Malformed(place or "report", f"wants an object, found {named(value)}")
        for name in value:
            if name not in known:
                raise Malformed(joined(place, str(name)), "is not a known field")
        return cls(value, place)

    def read(self, name: str, read: Callable[[object, str], T]) -> T:
        """Read a field that must be there."""
        place = joined(self.place, name)
        if name not in self.values:
            raise Malformed(place, "is missing")
        return read(self.values[name], place)

    def listed(self, name: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
        """Read a list that must be there."""
        place = joined(self.place, name)
        return tuple(read(value, f"{place}[{at}]") for at, value in enumerate(self.read(name, sequence)))


def joined(place: str, name: str) -> str:
    """Name a field within a place."""
    shown = name if _NAME.fullmatch(name) else quote(name, 60)
    return f"{place}.{shown}" if place else shown


def sequence(value: object, place: str) -> Sequence[object]:
    """Read a list."""
    if not isinstance(value, (list, tuple)):
        raise Malformed(place, f"wants a list, found {named(value)}")
    return value


def flag(value: object, place: str) -> bool:
    """Read a boolean; nothing else ever counts as one."""
    if not isinstance(value, bool):
        raise Malformed(place, f"wants true or false, found {named(value)}")
    return value


def text(value: object, place: str) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise Malformed(place, f"wants text, found {named(value)}")
    return value


def path(value: object, place: str) -> str:
    """Read a path: not empty, and bytes that can be known."""
    name = text(value, place)
    if not name or _SURROGATES.search(_BYTES.sub("", name)):
        raise Malformed(place, "is no path" if name else "is empty")
    return name


def number(value: object, place: str) -> int:
    """Read a count or a size."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise Malformed(place, f"wants a count, found {named(value)}")
    return value


def object_id(value: object, place: str) -> str:
    """Read an object id."""
    name = text(value, place)
    if not _HEX.fullmatch(name):
        raise Malformed(place, "is no object id")
    return name


def word(*words: str) -> Callable[[object, str], str]:
    """Read one of a closed set of words."""

    def read(value: object, place: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise Malformed(place, f"is {named(value)}, not one of {', '.join(words)}")
        return value

    return read


def optional(read: Callable[[object, str], T]) -> Callable[[object, str], T | None]:
    """Read null, or what another reader reads."""
    return lambda value, place: None if value is None else read(value, place)


def named(value: object) -> str:
    """Say what was found, never more than a line of it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case str():
            return quote(value, 80)
        case Mapping():
            return "an object"
        case _:
            return "a list"
