"""A diff on a terminal: coloured by us, and nothing in it but letters. What an agent wrote moves no cursor."""

import os
import re
from collections.abc import Iterator
from typing import Final

from cli.frame import streams
from cli.frame.screen import Screen, printable

_INDEX: Final = re.compile(rb"([0-9a-f]{12})[0-9a-f]+\.\.([0-9a-f]{12})[0-9a-f]+")
_PLAIN: Final = "\x1b[0m"
_COLOURS: Final = (
    (("diff --git ", "--- ", "+++ "), "\x1b[1m"),
    (("@@",), "\x1b[36m"),
    (("# ",), "\x1b[33m"),
    (("+",), "\x1b[32m"),
    (("-",), "\x1b[31m"),
)


def show(screen: Screen, diff: bytes) -> None:
    """Print a diff that was asked for: coloured and escaped on a terminal, byte for byte into a file or a pipe."""
    if streams.on_terminal():
        streams.write("".join(f"{line}\n" for line in readable(diff, coloured=wants_colour())))
    else:
        screen.raw(diff)


def readable(diff: bytes, *, coloured: bool) -> Iterator[str]:
    """Escape a diff line by line; only a line feed ends a line, and colour is the only escape in it."""
    if not diff:
        return
    for line in diff.removesuffix(b"\n").split(b"\n"):
        text = printable(_shortened(line).decode("utf-8", "backslashreplace"))
        colour = _colour(text) if coloured else ""
        yield f"{colour}{text}{_PLAIN}" if colour else text


def as_text(data: bytes) -> str:
    """Write a diff for JSON: bytes that are not UTF-8 become visible escapes."""
    return data.decode("utf-8", "backslashreplace")


def wants_colour() -> bool:
    """Tell whether a terminal wants colour."""
    return streams.on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _shortened(line: bytes) -> bytes:
    """Cut the ids of an index line to what a person can compare; every other line begins otherwise."""
    return _INDEX.sub(rb"\1..\2", line) if line.startswith(b"index ") else line


def _colour(text: str) -> str:
    return next((colour for starts, colour in _COLOURS if text.startswith(starts)), "")
