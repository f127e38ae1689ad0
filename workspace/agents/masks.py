"""Take secrets out of a stream before anything of it is kept."""

import re
from collections.abc import Sequence
from typing import Final

_SHORTEST: Final = 6  # shorter ones would take ordinary words with them
_STARS: Final = b"*" * 3


class Mask:
    """Replace each secret, also where it comes in two pieces. What may be the beginning of one waits for the rest."""

    def __init__(self, secrets: Sequence[str]) -> None:
        known = {secret.strip().encode("utf-8", "surrogateescape") for secret in secrets}
        # The longest first: one secret may be the beginning of another.
        self._secrets = sorted((each for each in known if len(each) >= _SHORTEST), key=len, reverse=True)
        self._any = re.compile(b"|".join(map(re.escape, self._secrets)))
        self._waiting = b""

    def take(self, data: bytes) -> bytes:
        """Return what may be kept by now."""
        if not self._secrets:
            return data
        text, at, kept = self._waiting + data, 0, []
        while (match := self._any.search(text, at)) and not self._begins(text[match.start() :]):
            kept += [text[at : match.start()], _STARS]
            at = match.end()
        held = self._unsure(text, at)
        self._waiting = text[held:]
        return b"".join([*kept, text[at:held]])

    def rest(self) -> bytes:
        """Return what was waiting, at the end of the stream."""
        rest, self._waiting = self._waiting, b""
        return self._any.sub(_STARS, rest) if self._secrets else rest

    def _unsure(self, text: bytes, at: int) -> int:
        """Return where the longest end begins that may become a secret."""
        earliest = max(at, len(text) - len(self._secrets[0]) + 1)
        return next((n for n in range(earliest, len(text)) if self._begins(text[n:])), len(text))

    def _begins(self, end: bytes) -> bool:
        return any(len(secret) > len(end) and secret.startswith(end) for secret in self._secrets)
