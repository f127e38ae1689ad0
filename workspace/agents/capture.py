"""What an agent prints, kept in a file of bounded size: its beginning, its end, and a mark where it was cut."""

from __future__ import annotations

import hashlib
import os
import select
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from statemachine.texts import clean
from workspace.agents.masks import Mask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MEBIBYTE: Final = 1 << 20
_CHUNK: Final = 1 << 16
_TAIL_TEXT: Final = 4_000
_REMARK: Final = 64
_LONGEST_CHARACTER: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Describe a finished capture. `size` and `sha256` speak of all that was printed, `kept` of what the file holds."""

    path: Path
    size: int
    kept: int
    sha256: str
    tail: str
    truncated: bool
    error: str = ""
    """Why not everything could be written down; empty when it could."""


class Capture:
    """Read a pipe to its end in a thread of its own, in flat memory, whatever comes through it.

    The writer gets `inlet`, which is closed here by `seal`. A reader of the file sees the beginning grow; the end is
    added by `finish`. The file must not exist yet. Secrets are masked before anything is kept or counted.
    """

    def __init__(self, path: Path, *, head: int = MEBIBYTE, tail: int = MEBIBYTE, secrets: Sequence[str] = ()) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._room = head
        self._kept = 0
        self._tail = _Tail(tail)
        self._mask = Mask(secrets)
        self._size = 0
        self._digest = hashlib.sha256()
        self._error = ""
        self._source, self.inlet = os.pipe()
        self._bell, self._ring = os.pipe()
        self._thread = threading.Thread(target=self._read_all, name=f"capture {path.name}", daemon=True)
        self._thread.start()

    def seal(self) -> None:
        """Close our copy of the inlet, once the writer has its own: else the pipe never ends."""
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1

    def finish(self, remark: str = "") -> Captured:
        """Take what is in the pipe now and close everything, even if somebody still holds the other end.

        The remark is ours, and comes last.
        """
        self.seal()
        os.close(self._ring)
        self._thread.join()
        self._take(self._mask.rest() + remark.encode())
        kept = self._kept + self._write_end()
        self._flush()
        for descriptor in (self._source, self._bell, self._file):
            os.close(descriptor)
        return Captured(
            path=self._path,
            size=self._size,
            kept=kept,
            sha256=self._digest.hexdigest(),
            tail=_text(self._tail.content()),
            truncated=kept < self._size,
            error=self._error,
        )

    def _read_all(self) -> None:
        os.set_blocking(self._source, False)
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        ringing = False
        left = MEBIBYTE  # what a pipe can hold when the bell rings; a writer that lives on is not waited for
        while left > 0:
            ringing = ringing or any(descriptor == self._bell for descriptor, _ in poll.poll())
            try:
                data = os.read(self._source, _CHUNK)
            except BlockingIOError:
                if ringing:
                    return
                continue
            if not data:
                return
            left -= len(data) if ringing else 0
            self._take(self._mask.take(data))

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        self._digest.update(data)
        self._tail.append(data)
        if self._kept < self._room and not self._error:
            self._kept += self._write(data[: self._room - self._kept])

    def _write_end(self) -> int:
        """Write what the beginning does not hold, as far back as it was kept; return its length."""
        rest = self._size - self._kept
        content = self._tail.content()
        end = content[len(content) - min(rest, len(content)) :]
        if rest > len(end):
            self._write(f"\n--- {rest - len(end)} bytes were left out here ---\n".encode("ascii"))
        return self._write(end)

    def _flush(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            self._error = self._error or os.strerror(error.errno or 0)

    def _write(self, data: bytes) -> int:
        """Write it all, or remember why not; a full disk must not stop the reading, else the agent hangs."""
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
        except OSError as error:
            self._error = self._error or os.strerror(error.errno or 0)
        return done


class _Tail:
    """The last bytes of a stream. One buffer, at most twice the limit: a million tiny pieces cost a lot of objects."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def append(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > 2 * self._limit:
            del self._buffer[: -self._limit]

    def content(self) -> bytes:
        return bytes(self._buffer[-self._limit :])


def _text(tail: bytes) -> str:
    """Decode the last characters for a column; a character cut in two at the front is dropped, not replaced."""
    last = tail[-_TAIL_TEXT * _LONGEST_CHARACTER :]
    if len(last) < len(tail):
        last = last.lstrip(bytes(range(0x80, 0xC0)))
    # Room is left for what cleaning may add: it cuts at the end, and the last line is the one that counts.
    return clean(last.decode("utf-8", errors="replace")[_REMARK - _TAIL_TEXT :], _TAIL_TEXT)
