"""One line that tells how long work goes: rewritten on a terminal, printed when it changes elsewhere."""

import shutil
import sys
from types import TracebackType
from typing import Self

from cli.frame import streams
from cli.frame.screen import Screen, printable


class Progress:
    """Tell on stderr what is going on, and leave a clean line behind."""

    def __init__(self, screen: Screen) -> None:
        self.silent = screen.json or screen.quiet
        self.rewrites = sys.stderr is not None and sys.stderr.isatty()
        self.last = ""

    def tell(self, line: str) -> None:
        """Show this line in place of the one before."""
        if self.silent or line == self.last:
            return
        self.last = line
        text = printable(line).replace("\n", " ")
        if self.rewrites:
            streams.complain(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
        else:
            streams.complain(f"{text}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line, so that what is printed next starts on its own."""
        if self.rewrites and self.last:
            streams.complain("\r\x1b[K")
