"""Take secrets out of a stream before anything of it is kept."""

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
        self._waiting = b""

    def take(self, data: bytes) -> bytes:
        """Return what may be kept by now."""
        if not self._secrets:
            return data
        text = self._masked(self._waiting + data)
        held = self._unsure(text)
        self._waiting = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> bytes:
        """Return what was waiting, at the end of the stream."""
        rest, self._waiting = self._waiting, b""
        return rest

    def _masked(self, text: bytes) -> bytes:
        for secret in self._secrets:
            text = text.replace(secret, _STARS)
        return text

    def _unsure(self, text: bytes) -> int:
        """Return the length of the longest end that begins a secret."""
        longest = len(self._secrets[0]) - 1
        return next((n for n in range(min(longest, len(text)), 0, -1) if self._begins(text[len(text) - n :])), 0)

    def _begins(self, end: bytes) -> bool:
        return any(secret.startswith(end) for secret in self._secrets)
