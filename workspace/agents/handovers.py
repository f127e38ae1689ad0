"""Keep the database's address out of what any process of this user can read in /proc: begin anew without it.

A process shows the environment and the command line it was started with for as long as it lives, whatever it does to
them. So a program that is about to run agents starts itself once more without the secret part, and hands that over
through a pipe; the number of the process stays. What is in its memory is not hidden by this.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

PIPE: Final = "_TASKS_HANDED_OVER"

_FLAG: Final = "--database-url"
_VARIABLE: Final = "TASKS_DATABASE_URL"
_NAMES: Final = re.compile(r"PG[A-Z]+|.*DATABASE_URL.*", re.IGNORECASE)
_VALUES: Final = re.compile(r"\bpostgres(ql)?(\+\w+)?://", re.IGNORECASE)


def keep_to_ourselves(line: Sequence[str]) -> list[str]:
    """Give the command line to go on with; where it or the environment leads to the database, in a process anew.

    Call it first of all, as a program of one's own: before there are threads, open files or anything to lose.
    """
    if pipe := os.environ.pop(PIPE, ""):
        _receive(pipe)
        return list(line)
    rest, flag = _without_flag(line)
    secret = {name: value for name, value in os.environ.items() if _NAMES.fullmatch(name) or _VALUES.search(value)}
    secret |= {_VARIABLE: flag} if flag else {}
    before, ours = sys.orig_argv[: -len(line)], sys.orig_argv[-len(line) :]
    if secret and sys.executable and ours == list(line):
        _begin_anew(rest, before[1:], secret)
    return list(line)


def _without_flag(line: Sequence[str]) -> tuple[list[str], str]:
    """Take the flag that names the database off a command line, as it is written before any `--`."""
    rest: list[str] = []
    url, words = "", iter(line)
    for word in words:
        if word == "--":
            return [*rest, word, *words], url
        if word == _FLAG:
            url = next(words, "")
        elif word.startswith(f"{_FLAG}="):
            url = word.partition("=")[2]
        else:
            rest.append(word)
    return rest, url


def _begin_anew(line: Sequence[str], before: Sequence[str], secret: Mapping[str, str]) -> None:
    """Start this program again; where that cannot be, go on as it is: the work matters more."""
    out, into = os.pipe()
    with suppress(OSError):
        os.set_blocking(into, False)
        whole = json.dumps(dict(secret)).encode()
        if os.write(into, whole) == len(whole):
            os.set_inheritable(out, True)  # noqa: FBT003 - the standard library's signature
            os.close(into)
            shown = {name: value for name, value in os.environ.items() if name not in secret}
            os.execve(sys.executable, [sys.executable, *before, *line], {**shown, PIPE: str(out)})  # noqa: S606 - as it was
    for end in (out, into):
        with suppress(OSError):
            os.close(end)


def _receive(pipe: str) -> None:
    with suppress(OSError, ValueError), os.fdopen(int(pipe), "rb") as handed:
        os.environ.update(json.load(handed))
