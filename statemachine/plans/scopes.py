"""Which paths a declaration covers.

A declared path is one of three things:

- one exact path, `src/upload.py`;
- a folder, `src/`, which is everything beneath it, at any depth;
- a glob: `*` is any run of characters within a part (leading dots too), `?` is one character, `[a-c]`
  one of a set and `[!a-c]` one outside it, and `**`, alone between slashes, is any number of parts
  (at the end: everything beneath). `[*]`, `[?]` and `[[]` are the characters themselves.

A glob also covers a path spelled exactly as the glob is, so `pages/[id].tsx` covers that file. Nothing
ever covers a path with a part that spells `.git`.
"""

import fnmatch
import re
from functools import lru_cache
from typing import Final

from statemachine.paths import names_git
from statemachine.plans.declarations import Item, Operation, OperationKind

_ESCAPED: Final = re.compile(r"\[([*?\[])\]")
_WILD: Final = re.compile(r"[*?\[]")
_ACROSS: Final = "**"
_NOTHING: Final = re.compile(r"(?!)")


@lru_cache(maxsize=4096)
def exact_path(spec: str) -> str | None:
    """Give the one path a declaration names, or None where it is a folder or a glob."""
    if spec.endswith("/") or _WILD.search(_ESCAPED.sub("", spec)):
        return None
    return _ESCAPED.sub(r"\1", spec)


def spell(path: str) -> str:
    """Declare exactly this path, whatever characters it has."""
    return _WILD.sub(lambda wild: f"[{wild[0]}]", path)


def glob_problem(spec: str) -> str | None:
    """Say what is wrong with the glob characters of a declared path."""
    for part in _ESCAPED.sub("", spec).split("/"):
        if _ACROSS in part and part != _ACROSS:
            return "`**` must stand alone between slashes"
        if _leaves_a_set_open(part):
            return "a `[` is never closed; write `[[]` for the character itself"
    return None


def covers(spec: str, path: str) -> bool:
    """Tell whether a declared path covers a path of the tree."""
    return not names_git(path) and _spans(spec, path)


def permits(item: Item, change_kind: OperationKind, path: str) -> bool:
    """Tell whether an item declares this change of this path; a rename is asked for as a delete and an add."""
    return not names_git(path) and any(_allows(operation, change_kind, path) for operation in item.operations)


def declares_exactly(item: Item, path: str) -> bool:
    """Tell whether an item names this one path, on either side of a rename."""
    return any(path in exact_paths(operation) for operation in item.operations)


def declares_link(item: Item, path: str) -> bool:
    """Tell whether an item lets this one path be a symlink."""
    return any(operation.link and exact_path(operation.path) == path for operation in item.operations)


def exact_paths(operation: Operation) -> tuple[str, ...]:
    """List the one or two paths an operation names exactly; a folder or a glob names none."""
    specs = [spec for spec in (operation.path, operation.renamed_from) if spec is not None]
    return tuple(path for path in map(exact_path, specs) if path is not None)


def _allows(operation: Operation, change_kind: OperationKind, path: str) -> bool:
    if operation.kind is not OperationKind.rename:
        return operation.kind is change_kind and _spans(operation.path, path)
    if change_kind is OperationKind.delete:
        return operation.renamed_from is not None and _spans(operation.renamed_from, path)
    return change_kind is OperationKind.add and _spans(operation.path, path)


def _spans(spec: str, path: str) -> bool:
    exact = exact_path(spec)
    if exact is not None:
        return path == exact
    return path == spec or _matches(_parts(spec), path.split("/"))


def _leaves_a_set_open(part: str) -> bool:
    start = part.find("[")
    while start >= 0:
        first = start + (2 if part[start + 1 : start + 2] == "!" else 1)
        end = part.find("]", first + 1)
        if end < 0:
            return True
        start = part.find("[", end)
    return False


@lru_cache(maxsize=4096)
def _parts(spec: str) -> tuple[re.Pattern[str] | None, ...]:
    """Translate each part to a pattern; None stands for `**`, which at the end wants one part more."""
    names = (spec + _ACROSS if spec.endswith("/") else spec).split("/")
    if names[-1] == _ACROSS:
        names.append("*")
    return tuple(None if name == _ACROSS else re.compile(fnmatch.translate(name)) for name in names)


def _matches(parts: tuple[re.Pattern[str] | None, ...], names: list[str]) -> bool:
    """Match with one point of return, the last `**`: never more than parts times names steps."""
    at = name = taken = 0
    across = -1
    while name < len(names):
        part = parts[at] if at < len(parts) else _NOTHING
        if part is None:
            across, taken, at = at, name, at + 1
        elif part.match(names[name]):
            at, name = at + 1, name + 1
        elif across >= 0:
            taken += 1
            at, name = across + 1, taken
        else:
            return False
    return all(part is None for part in parts[at:])
