"""What goes on, line by line: on a terminal the one that still goes on gives way to how it ended."""

import re
import shutil
import sys
from types import TracebackType
from typing import Final, Self

from cli.frame import streams
from cli.frame.screen import Screen, printable

_LIVE: Final = re.compile(r" begins?$")
"""How a line ends that another one about the same thing will follow."""


class Progress:
    """Tell on stderr what is going on; what has ended stays to be read, and the end finds a clean line."""

    def __init__(self, screen: Screen) -> None:
        self.silent = screen.json or screen.quiet
        self.rewrites = sys.stderr is not None and sys.stderr.isatty()
        self.last = ""

    def tell(self, line: str) -> None:
        """Show this line, in place of the one before if that was still going on."""
        if self.silent or line == self.last:
            return
        self.last = line
        text = printable(line).replace("\n", " ")
        if not self.rewrites:
            streams.complain(f"{text}\n")
        elif _LIVE.search(text):
            streams.complain(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
        else:
            streams.complain(f"\r\x1b[K{text}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line that still went on, so that what is printed next starts on its own."""
        if self.rewrites and self.last:
            streams.complain("\r\x1b[K")
