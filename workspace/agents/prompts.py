"""What an agent is told, whichever agent it is: one markdown file in the attempt's own folder."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from statemachine.texts import clean, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Declared = tuple[str, str, str | None]
"""Kind (edit, add, delete, rename), path, and for a rename the path it comes from."""

NAME: Final = "prompt.md"
_LIMIT: Final = 1_000_000

_BEGINNING: Final = "Make the change described here in the current folder, and end."
_SCOPE: Final = (
    "Nothing else may change. A path that ends in `/` stands for everything beneath it, `**` for any folders.\n"
    "If the change needs another file, leave that file as it is and say so in your output."
)
_CHECKS: Final = "These commands must succeed afterwards. They are run on a fresh copy of the result:"
_RULES: Final = (
    "Only the files count. Nothing you print, and no answer you give, is taken as done work.",
    "Touch only the files listed above; any other change stops the work until a person has looked at it.",
    "Make no symbolic links, nested repositories, submodules or special files, and no names like `.git`.",
    "Files that the repository ignores (caches, build output) are not kept.",
    "Leave no process running when you end; what is left is ended, and a person is asked.",
    "End with exit status 0 when the change is complete, with another one when it is not.",
)
_COMMITS_FREE: Final = (
    "Committing is not needed, and commits, branches and stashes are thrown away with their metadata."
)
_COMMITS_WATCHED: Final = (
    "Committing is not needed: do not commit, and leave `.git` as it is. A commit, a branch, a hook or a setting made\n"
    "  there stops the work until a person has looked at it."
)


def prompt(
    *,
    title: str,
    intent: str,
    operations: Sequence[Declared],
    checks: Sequence[str] = (),
    guidance: str = "",
    commits_watched: bool = True,
) -> str:
    """Write the text. `commits_watched` says that the agent works in a real repository whose metadata is compared."""
    commits = _COMMITS_WATCHED if commits_watched else _COMMITS_FREE
    parts = [
        f"# {one_line(title)}",
        _BEGINNING,
        _section("What is wanted", intent),
        _section("Files you may touch", _bullets(map(_operation, operations)), _SCOPE),
        _section("Guidance from a reviewer", guidance),
        _section("Checks", _CHECKS if checks else "", "\n".join(f"    {one_line(check, 4_000)}" for check in checks)),
        _section("Rules", _bullets([*_RULES, commits])),
    ]
    return clean("\n\n".join(part for part in parts if part) + "\n", _LIMIT)


def write_prompt(folder: Path, text: str) -> Path:
    """Write the prompt file, for its owner only; it must not be there yet, nor be a link to somewhere else."""
    path = folder / NAME
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _section(heading: str, *paragraphs: str) -> str:
    body = "\n\n".join(paragraph.strip("\n") for paragraph in paragraphs if paragraph.strip())
    return f"## {heading}\n\n{body}" if body else ""


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _operation(operation: Declared) -> str:
    kind, path, renamed_from = operation
    return f"{kind} {_code(renamed_from)} to {_code(path)}" if renamed_from else f"{kind} {_code(path)}"


def _code(path: str) -> str:
    """Show a path as code that neither its own backticks nor odd characters can end."""
    shown = path if path.isprintable() else quote(path, 1_100)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    blank = " " if "`" in shown else ""
    return f"{fence}{blank}{shown}{blank}{fence}"
