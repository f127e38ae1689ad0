"""What a person sees: sentences, tables and the next step; and for a script, one JSON document instead.

Text from outside goes through `statemachine.texts.quote` where it is put into a sentence. `printable` is the last
wall behind that: whatever was forgotten, no control or direction character reaches a terminal.
"""

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cli.frame import streams
from cli.frame.documents import as_json

_COMMAND: Final = re.compile(r"(next:)? *(tasks|git|rm) ")
_HANG: Final = 2
"""Columns by which a line that continues another is set in."""


def printable(text: str) -> str:
    """Escape everything but line ends, tabs and what a terminal shows as a letter."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def cell(value: object) -> str:
    """Put any value on one line; nothing is shown as a dash."""
    match value:
        case None | "":
            return "-"
        case datetime():
            return when(value)
        case _:
            return printable(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def when(value: datetime) -> str:
    """Write a time for a person, in UTC and to the second."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Print for a person or for a script; with `json`, only `document` prints."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def document(self, value: object) -> None:
        """Print the one JSON document of this command, where JSON was asked for."""
        if self.json:
            streams.write(as_json(value, indent=2 if streams.on_terminal() else None) + "\n")

    def say(self, *lines: str) -> None:
        """Print sentences, unless told to be quiet."""
        if not (self.json or self.quiet):
            self._print(*lines)

    def detail(self, *lines: str) -> None:
        """Print sentences only a curious person wants."""
        if self.verbose and not self.json:
            self._print(*lines)

    def text(self, *lines: str) -> None:
        """Print what was asked for, also when told to be quiet."""
        if not self.json:
            self._print(*lines)

    def next_step(self, *commands: str) -> None:
        """Print what a person may type next; the first is the likeliest."""
        self.say(*(f"{'     ' if row else 'next:'} {command}" for row, command in enumerate(commands)))

    def warn(self, *lines: str) -> None:
        """Print a warning on stderr; it is part of no document."""
        if not self.quiet:
            streams.complain("".join(f"warning: {printable(line)}\n" for line in lines))

    def raw(self, data: bytes) -> None:
        """Print a diff or a log: as it is into a file or pipe, escaped on a terminal."""
        if self.json:
            return
        if streams.on_terminal():
            streams.write(printable(data.decode("utf-8", "backslashreplace")))
        else:
            streams.write_bytes(data)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table: drawn to fit a terminal, aligned and uncut elsewhere."""
        if self.json:
            return
        cells = [[cell(value) for value in row] for row in rows]
        if streams.on_terminal():
            _draw(columns, cells)
        else:
            streams.write(_aligned([list(columns), *cells]))

    def _print(self, *lines: str) -> None:
        width = _width()
        streams.write("".join(f"{wrapped(printable(line), width)}\n" for line in lines))


def _width() -> int | None:
    return shutil.get_terminal_size().columns if streams.on_terminal() else None


def wrapped(text: str, width: int | None) -> str:
    """Break a sentence between its words where the terminal is too narrow; a command stays whole, to be copied."""
    if width is None or len(text) <= width or _COMMAND.match(text):
        return text
    return "\n".join(_fitted(line, width) for line in text.split("\n"))


def _fitted(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip(" "))]
    if len(line) <= width or len(indent) + _HANG >= width:
        return line
    return textwrap.fill(
        line.lstrip(" "),
        width,
        initial_indent=indent,
        subsequent_indent=indent + " " * _HANG,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _draw(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - rich is slow to import and only a terminal needs it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(markup=False, highlight=False, emoji=False)
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        written = (text.encode(console.encoding, "backslashreplace").decode(console.encoding) for text in row)
        table.add_row(*(Text(text, overflow="fold") for text in written))
    console.print(table)
