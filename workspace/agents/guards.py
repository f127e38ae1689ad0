"""What keeps watch over a running agent beside its parent, and may have it ended."""

from __future__ import annotations

from typing import Protocol


class Guard(Protocol):
    """Watch one thing while an agent runs."""

    def admit(self, pid: int) -> None:
        """Take the agent under watch, before its first instruction."""
        ...

    def broken(self) -> str:
        """Name the limit that was broken; empty where none was. Asked about once a second, and once after the end."""
        ...

    def remark(self) -> str:
        """Say what whoever reads the agent's output should know; empty where there is nothing. Asked at the end."""
        ...

    def leave(self) -> None:
        """Let go of what the watch needed. Safe to repeat."""
        ...
