"""How the demo looks: titles, a few sentences, commands, and what they said, folded to the terminal."""

import shlex
import shutil
import textwrap
from collections.abc import Sequence
from typing import Final

from cli.frame import streams
from cli.frame.screen import Screen, printable
from cli.pages.diffs import wants_colour
from workspace.agents.processes import Exit

MOST_COLUMNS: Final = 100
INDENT: Final = "    "
HANGING: Final = "  "

_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_PLAIN: Final = "\x1b[0m"


class Page:
    """Print a story; silent where JSON or quiet was asked for."""

    def __init__(self, screen: Screen) -> None:
        self._silent = screen.json or screen.quiet
        self._coloured = wants_colour()
        self._columns = min(shutil.get_terminal_size().columns, MOST_COLUMNS)

    def title(self, title: str, text: str) -> None:
        """Begin a scene."""
        rule = "-" * max(0, self._columns - len(title) - 1)
        self._print("", f"{self._in(_BOLD, title)} {self._in(_DIM, rule)}")
        self._print(*self._wrapped(text))

    def text(self, text: str) -> None:
        """Print a paragraph of our own."""
        self._print("", *self._wrapped(text))

    def lines(self, *lines: str) -> None:
        """Print lines of our own as they are."""
        self._print(*map(printable, lines))

    def command(self, words: Sequence[str], after: str = "") -> None:
        """Print a command line as a person types it."""
        line = broken(words, self._columns - len(INDENT) - len("$  \\"))
        shown = f"$ {line}{after}".split("\n")
        self._print("", *(INDENT + self._in(_BOLD, each) for each in shown))

    def said(self, text: str) -> None:
        """Print what a command said."""
        width = self._columns - len(INDENT)
        lines = printable(text).expandtabs().splitlines()
        self._print(*(f"{INDENT}{part}".rstrip() for line in lines for part in fold(line, width)))

    def aside(self, text: str) -> None:
        """Print a remark of our own on what a command said."""
        self._print(INDENT + self._in(_DIM, text))

    def ending(self, ended: Exit | None) -> None:
        """Print how a command ended, where that is worth a word."""
        match ended:
            case None:
                self.aside("(it did not end)")
            case Exit(signal=int(number)):
                self.aside(f"(ended by signal {number})")
            case Exit(code=code) if code != 0:
                self.aside(f"(exit code {code})")

    def _wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(printable(text), self._columns, break_long_words=False, break_on_hyphens=False)

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self._coloured else text

    def _print(self, *lines: str) -> None:
        if not self._silent:
            streams.write("".join(f"{line}\n" for line in lines))


def broken(words: Sequence[str], width: int) -> str:
    """Write a command line for a shell, broken before an option where it is too long for one line."""
    lines = [""]
    for part in _parts(words):
        if lines[-1] and len(lines[-1]) + len(part) >= width:
            lines.append(HANGING + part)
        else:
            lines[-1] = f"{lines[-1]} {part}" if lines[-1] else part
    return " \\\n".join(lines)


def _parts(words: Sequence[str]) -> list[str]:
    """Keep every option together with its value."""
    parts: list[str] = []
    for word in words:
        quoted = printable(shlex.quote(word))
        if parts and not word.startswith("--"):
            parts[-1] += f" {quoted}"
        else:
            parts.append(quoted)
    return parts


def fold(line: str, width: int) -> list[str]:
    """Break one line between words, and let what follows hang beneath its own beginning."""
    text = line.lstrip()
    begin = line[: len(line) - len(text)]
    wrapped = textwrap.wrap(
        text,
        max(width, len(begin) + len(HANGING) + 1),
        initial_indent=begin,
        subsequent_indent=begin + HANGING,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return wrapped or [""]
