"""Messages between a worker and its own helpers: eight bytes of length, then a value as the interpreter writes it.

Both ends are the same interpreter and both are ours; marshal is fast, keeps any text, and needs no import.
"""

import marshal
from typing import IO, Any, Final

_LENGTH: Final = 8
LONGEST: Final = 1 << 30


def pack(message: Any) -> bytes:  # noqa: ANN401 - plain values of any shape
    """Encode one message."""
    body = marshal.dumps(message)
    return len(body).to_bytes(_LENGTH, "big") + body


def receive(stream: IO[bytes]) -> Any | None:  # noqa: ANN401 - plain values of any shape
    """Wait for one message; None is the end of the stream."""
    header = stream.read(_LENGTH)
    if len(header) < _LENGTH:
        return None
    return marshal.loads(stream.read(int.from_bytes(header, "big")))  # noqa: S302 - written by ourselves


class Assembly:
    """Put messages together from pieces that arrive as they like."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, piece: bytes) -> None:
        """Take what arrived."""
        self._held += piece

    def take(self) -> Any | None:  # noqa: ANN401 - plain values of any shape
        """Return the next whole message, or None while there is none; refuse one of an absurd length."""
        if len(self._held) < _LENGTH:
            return None
        end = _LENGTH + int.from_bytes(self._held[:_LENGTH], "big")
        if end > LONGEST:
            raise ValueError(f"a message of {end} bytes")
        if len(self._held) < end:
            return None
        message = marshal.loads(bytes(self._held[_LENGTH:end]))  # noqa: S302 - written by ourselves
        del self._held[:end]
        return message
