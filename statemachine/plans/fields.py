"""Read a plain document strictly: every field known, and every problem noted before any is raised."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from statemachine.plans.problems import Problem, Where
from statemachine.texts import quote

T = TypeVar("T")
_MOST_PROBLEMS: Final = 1000
_NONE: Final[Sequence[object]] = ()


class Wrong(Exception):  # noqa: N818 - caught where the field's name is known, and noted there
    """Say what is wrong with a value, and what to write instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Fields:
    """Read one mapping of a document; a value that cannot be used is noted and its placeholder given instead."""

    def __init__(self, value: object, where: Where, problems: list[Problem], known: Sequence[str]) -> None:
        self._where = where
        self._problems = problems
        self._values: Mapping[object, object] = value if isinstance(value, Mapping) else {}
        self.usable = isinstance(value, Mapping)
        if not self.usable:
            self.note(
                Wrong(f"wants fields with values, found {described(value)}", f"the fields are {', '.join(known)}")
            )
        for name in self._values:
            if name not in known:
                self.note(Wrong("is not a field here", _closest(str(name), known)), str(name))

    def has(self, name: str) -> bool:
        """Tell whether the field was written."""
        return name in self._values

    def take(self, name: str, read: Callable[[object], T], default: T) -> T:
        """Read a field that may be left out."""
        return self._value(self._values[name], read, default, name) if name in self._values else default

    def need(self, name: str, read: Callable[[object], T], placeholder: T) -> T:
        """Read a field that must be there."""
        if self.usable and name not in self._values:
            self.note(Wrong(f"has no `{name}`", f"add a line `{name}: ...`"))
        return self.take(name, read, placeholder)

    def values(self, name: str, read: Callable[[object], T], placeholder: T) -> tuple[T, ...]:
        """Read a list of single values that may be left out."""
        return tuple(
            self._value(entry, read, placeholder, name, at) for at, entry in enumerate(self.take(name, sequence, _NONE))
        )

    def each(self, name: str, read: Callable[[object, Where, list[Problem]], T], nothing: Wrong) -> tuple[T, ...]:
        """Read a list of mappings, which must be there and not be empty."""
        if self.usable and self._values.get(name, []) == []:
            self.note(nothing, *([name] if self.has(name) else []))
        entries = self.take(name, sequence, _NONE)
        return tuple(read(entry, (*self._where, name, at), self._problems) for at, entry in enumerate(entries))

    def note(self, wrong: Wrong, *steps: str | int) -> None:
        """Remember a problem at this mapping, or at one of its fields."""
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(Problem(where=(*self._where, *steps), message=wrong.message, hint=wrong.hint))

    def _value(self, value: object, read: Callable[[object], T], default: T, *steps: str | int) -> T:
        try:
            return read(value)
        except Wrong as wrong:
            self.note(wrong, *steps)
            return default


def sequence(value: object) -> Sequence[object]:
    """Read a list."""
    if not isinstance(value, (list, tuple)):
        raise Wrong(f"wants a list, found {described(value)}", "write one `- ` line for each entry")
    return value


def described(value: object) -> str:
    """Say what was found instead of what was wanted."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return "a number"
        case str():
            return quote(value, 80)
        case Mapping():
            return "fields"
        case _:
            return "a list"


def _closest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name[:60], known, 1)
    return f"did you mean `{close[0]}`?" if close else f"the fields here are {', '.join(known)}"
