"""Messages over a pipe: four bytes of length, then JSON."""

import json
from typing import IO, Any, Final

_LENGTH: Final = 4
LONGEST: Final = 256 << 20


def pack(message: object) -> bytes:
    """Encode one message."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(_LENGTH, "big") + body


def receive(stream: IO[bytes]) -> Any | None:  # noqa: ANN401 - JSON
    """Wait for one message; None is the end of the stream."""
    header = stream.read(_LENGTH)
    if len(header) < _LENGTH:
        return None
    return json.loads(stream.read(int.from_bytes(header, "big")))


class Assembly:
    """Put messages together from pieces that arrive as they like."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, piece: bytes) -> None:
        """Take what arrived."""
        self._held += piece

    def take(self) -> Any | None:  # noqa: ANN401 - JSON
        """Return the next whole message, or None while there is none; refuse one of an absurd length."""
        length = int.from_bytes(self._held[:_LENGTH], "big")
        if length > LONGEST:
            raise ValueError(f"a message of {length} bytes")
        if len(self._held) < _LENGTH + length or len(self._held) < _LENGTH:
            return None
        message = json.loads(bytes(self._held[_LENGTH : _LENGTH + length]))
        del self._held[: _LENGTH + length]
        return message
