"""Single values of a plan: what each may be, and what to write where it is not."""

import re
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar

from statemachine.durations import LONGEST, parse_duration
from statemachine.paths import is_canonical, is_inside, is_utf8, names_git
from statemachine.plans.fields import Wrong, described
from statemachine.plans.scopes import glob_problem
from statemachine.texts import quote

Choice = TypeVar("Choice", bound=StrEnum)
_ITEM_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_TRIES: Final = 100
_LONGEST_REF: Final = 250
_REVISION: Final = re.compile(r"(?!-)(?!.*\.\.)[^\x00-\x20\x7f:?*\[\\]+")
_BRANCH: Final = re.compile(r"(?![-./]|refs/)(?!.*(?:\.\.|@\{|//|/\.|\.lock(?:/|$)|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]+")


def text(value: object) -> str:
    """Read a text; a number or a yes/no is not one, because two readers would spell it differently."""
    if not isinstance(value, str):
        raise Wrong(f"wants text, found {described(value)}", "put the value in quotes")
    if "\x00" in value or not is_utf8(value):
        raise Wrong("holds a character no database stores", "remove NUL characters and halves of surrogate pairs")
    return value


def filled(value: object) -> str:
    """Read a text that says something."""
    words = text(value)
    if not words.strip():
        raise Wrong("is empty", "write something here, or remove the field")
    return words


def whole(value: object) -> int:
    """Read how many times something is tried again."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"wants a whole number, found {described(value)}", "write digits without quotes")
    if not 0 <= value <= _MOST_TRIES:
        raise Wrong(f"is {value}", f"write a number from 0 to {_MOST_TRIES}")
    return value


def flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Wrong(f"wants true or false, found {described(value)}", "write `true`, or remove the field")
    return value


def duration(value: object) -> timedelta:
    """Read a duration that is not nothing and not longer than a budget can sensibly be."""
    written = parse_duration(text(value)) if isinstance(value, str) else None
    if written is None:
        raise Wrong(f"is not a duration: {described(value)}", "write it like `90s`, `10m`, `2h` or `1h30m`")
    if not timedelta() < written <= LONGEST:
        raise Wrong(f"is {quote(str(value))}", "write a duration from `1s` to `720h`")
    return written


def choice(kind: type[Choice]) -> Callable[[object], Choice]:
    """Read one of a closed set of words."""

    def read(value: object) -> Choice:
        words = [member.value for member in kind]
        if not isinstance(value, str) or value not in words:
            raise Wrong(f"is {described(value)}", f"write {' or '.join(f'`{word}`' for word in words)}")
        return kind(value)

    return read


def item_id(value: object) -> str:
    """Read an item's id: it becomes part of messages, trailers and environments."""
    name = filled(value)
    if not _ITEM_ID.fullmatch(name):
        raise Wrong(f"is {quote(name, 80)}", "use up to 64 letters, digits, `.`, `_` and `-`, a letter or digit first")
    return name


def revision(value: object) -> str:
    """Read a branch, tag or commit by name."""
    name = filled(value)
    if not _REVISION.fullmatch(name) or len(name.encode()) > _LONGEST_REF:
        raise Wrong(f"cannot be a revision: {quote(name, 80)}", "name one branch, tag or commit")
    return name


def branch(value: object) -> str:
    """Read a branch's name."""
    name = filled(value)
    if name in {"@", "HEAD"} or not _BRANCH.fullmatch(name) or len(name.encode()) > _LONGEST_REF:
        raise Wrong(f"cannot be a branch: {quote(name, 80)}", "name a branch as git does, such as `main`")
    return name


def path(value: object) -> str:
    """Read a declared path: exact, a folder, or a glob, and always inside the repository."""
    spec = text(value)
    wrong = _path_problem(spec)
    if wrong is not None:
        raise Wrong(f"{wrong}: {quote(spec, 120)}", "write a path from the top of the repository, such as `src/a.py`")
    return spec


def _path_problem(spec: str) -> str | None:
    inner = spec.removesuffix("/")
    if not is_inside(inner) or not is_canonical(inner):
        return "is not a plain path inside the repository"
    if names_git(inner):
        return "names git's own folder"
    return glob_problem(inner)
