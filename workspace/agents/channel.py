"""One JSON line per message over a socket: what the worker and its supervisor say to each other.

A socket, not a pipe: a pipe can be opened a second time through /proc by anybody of the same user, who could then
write reports of its own. Standard library only, because the supervisor starts without site-packages in mind.
"""

from __future__ import annotations

import json
import math
import select
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

Message = dict[str, Any]
_CHUNK = 65536


class Channel:
    """One end of the conversation. Owns its socket."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._end.set_inheritable(False)
        self._inbox = bytearray()
        self.closed = False
        """True once the other side is gone and nothing more can come."""

    def fileno(self) -> int:
        """Return the descriptor, for a poll."""
        return self._end.fileno()

    def send(self, message: Message) -> bool:
        """Say one thing; False when nobody is there to hear it."""
        try:
            self._end.sendall(json.dumps(message).encode("ascii") + b"\n")
        except OSError:
            return False
        return True

    def receive(self, seconds: float = math.inf) -> Message | None:
        """Return the next message, or None when the time is over or the other side is gone (`closed`)."""
        deadline = time.monotonic() + seconds
        while (message := self.pending()) is None and not self.closed:
            if not self._readable(deadline - time.monotonic()):
                return None
            self.fill()
        return message

    def pending(self) -> Message | None:
        """Return a message that has arrived already, without waiting."""
        line, newline, rest = self._inbox.partition(b"\n")
        if not newline:
            return None
        self._inbox = rest
        try:
            message: Message = json.loads(line)
        except ValueError:  # not one of ours is speaking: the conversation is over
            self.closed = True
            return None
        return message

    def fill(self) -> None:
        """Take in what the socket has; blocks when it has nothing."""
        try:
            data = self._end.recv(_CHUNK)
        except ConnectionError:
            data = b""
        self._inbox += data
        self.closed = not data

    def close(self) -> None:
        """Hang up; the other side sees the end of the conversation."""
        self._end.close()
        self.closed = True

    def _readable(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        return bool(poll.poll(None if seconds == math.inf else max(0, math.ceil(seconds * 1000))))
