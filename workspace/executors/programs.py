"""What of this host a command needs to see to run at all: its program, the files it names, and their interpreters."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_FIRST_LINE: Final = 256
_DEEPEST: Final = 4
_LIBRARIES: Final = ("lib/python3*", "lib/node_modules", "lib/ruby", "lib/perl5")
_PARTS: Final = ("bin", "lib", "lib64", "libexec")  # never `share`: a home's own holds its keys


def needed(argv: Sequence[str], *, path: str) -> list[Path]:
    """List files and folders outside of the system's that must be readable, the program's first.

    A file that the command names by its full path belongs to it. Of a virtual environment or of an interpreter's own
    tree the whole is needed; what else a program reads must be named in the settings.
    """
    found: dict[Path, None] = {}
    program = shutil.which(argv[0], path=path)
    for each in (program, *argv[1:]):
        if each and each.startswith(os.sep) and os.path.isfile(each):  # noqa: PTH113 - a word, not a path, as a rule
            found |= dict.fromkeys(_of_file(Path(each), path, _DEEPEST))
    return [place for place in found if not in_system(place)]


def interpreter_tree(prefix: Path) -> list[Path]:
    """List the folders of a prefix that an interpreter needs, outside of the system's."""
    found = [prefix / part for part in _PARTS if (prefix / part).is_dir()]
    return [place for place in found if not in_system(place)]


def in_system(place: Path) -> bool:
    """Tell whether a place lies in a folder that every sandbox shows."""
    return any(place.is_relative_to(folder) for folder in SYSTEM)


def _of_file(file: Path, path: str, depth: int) -> Iterator[Path]:
    yield file
    yield from _tree_of(file)
    real = file.resolve()
    if real != file:
        yield from _tree_of(real)
    interpreter = _interpreter(real, path)
    if interpreter and depth:
        yield from _of_file(interpreter, path, depth - 1)


def _tree_of(program: Path) -> Iterator[Path]:
    """Give the tree an interpreter lives in: a virtual environment with the one it was made from, or its own prefix."""
    if program.parent.name not in {"bin", "Scripts"}:
        return
    prefix = program.parent.parent
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        yield prefix
        words = (line.partition("=") for line in settings.read_text("utf-8", "replace").splitlines())
        for name, _, value in words:
            if name.strip() == "home":
                yield from interpreter_tree(Path(value.strip()).parent)
    elif any(next(prefix.glob(pattern), None) for pattern in _LIBRARIES):
        yield from interpreter_tree(prefix)


def _interpreter(script: Path, path: str) -> Path | None:
    try:
        with script.open("rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = os.fsdecode(line[2:]).split()
    if len(words) > 1 and Path(words[0]).name == "env":
        words = [found] if (found := shutil.which(words[-1], path=path)) else []
    return Path(words[0]) if words and words[0].startswith(os.sep) else None
