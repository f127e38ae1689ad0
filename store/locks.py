"""File locks between the processes that share one embedded server; the kernel frees them when one dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from statemachine.refusals import Unavailable

_PAUSE = 0.05


class FileLock:
    """Hold one lock file open; closing it (or dying) lets go of what was locked through it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(
                "embedded_not_permitted",
                f"the embedded server's lock {path} cannot be opened: {error.strerror}",
                hint="run as the user who made it, or choose another state folder",
            ) from error

    def share(self, patience: timedelta) -> Self:
        """Lock together with others, once nobody holds it alone."""
        return self._wait(fcntl.LOCK_SH, patience)

    def alone(self, patience: timedelta) -> Self:
        """Lock for oneself, once nobody else holds it."""
        return self._wait(fcntl.LOCK_EX, patience)

    def last(self) -> bool:
        """Turn a shared lock into one's own if nobody else shares it; what was shared is given up either way."""
        return self._try(fcntl.LOCK_EX)

    def close(self) -> None:
        """Let go."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _wait(self, kind: int, patience: timedelta) -> Self:
        deadline = monotonic() + patience.total_seconds()
        while not self._try(kind):
            if monotonic() > deadline:
                self.close()
                raise Unavailable(
                    "embedded_busy",
                    f"another process has been starting or stopping the embedded server for {patience.seconds} seconds",
                    hint=f"see which one holds {self._path}",
                )
            sleep(_PAUSE)
        return self

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def alone(path: Path, patience: timedelta) -> Iterator[None]:
    """Run the block while no other process runs one under the same lock file."""
    lock = FileLock(path).alone(patience)
    try:
        yield
    finally:
        lock.close()
