"""Where a symlink may point: inside the repository, by its text alone, and never into `.git`."""

import re
from typing import Final

from statemachine.paths import is_git_spelling, parents

_DRIVE: Final = re.compile(r"[A-Za-z]:")


def unsafe_target(path: str, target: str) -> str | None:
    """Say why a symlink at a path may not have a target; None where it may."""
    if not target or "\x00" in target:
        return "is empty" if not target else "holds a NUL"
    if target.startswith("/") or "\\" in target or _DRIVE.match(target):
        return "is absolute, or is on some systems"
    return _leaves(len(parents(path)), target)


def _leaves(depth: int, target: str) -> str | None:
    """Follow a target by its text; a part that a later `..` takes back still counts as entered."""
    for part in target.split("/"):
        if is_git_spelling(part):
            return "enters `.git`"
        if part == "..":
            depth -= 1
        elif part not in {"", "."}:
            depth += 1
        if depth < 0:
            return "leaves the repository"
    return "is the repository itself" if depth == 0 else None
