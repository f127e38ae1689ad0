"""Where a history is cut: the file git keeps for it, read from a source and extended in a runner repository."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from statemachine.refusals import LostRace
from workspace.disk import durability

_PATIENCE: Final = timedelta(seconds=30)
_PAUSE: Final = 0.05  # seconds between two tries


def read(git_dir: Path) -> set[str]:
    """Return the commits whose parents are not there."""
    file = git_dir / "shallow"
    return set(file.read_text("ascii").split()) if file.exists() else set()


@contextmanager
def together(git_dir: Path, more: AbstractSet[str]) -> Iterator[Path]:
    """Yield a file that says what this repository's says and more, for the time of one look."""
    with tempfile.NamedTemporaryFile("w", dir=git_dir, prefix="shallow-", encoding="ascii") as file:
        file.writelines(f"{each}\n" for each in sorted(read(git_dir) | more))
        file.flush()
        yield Path(file.name)


def record(git_dir: Path, more: AbstractSet[str]) -> None:
    """Add to the file of a repository of our own; it is replaced whole, flushed, by one process at a time."""
    with _alone(git_dir):
        file = git_dir / "shallow"
        draft = git_dir / "shallow.weighlock"
        draft.write_text("".join(f"{each}\n" for each in sorted(read(git_dir) | more)), "ascii")
        durability.flush(draft)
        draft.replace(file)
        durability.flush(git_dir)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the kernel's lock on a folder, which dies with its holder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE.total_seconds()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise LostRace("lock_timeout", f"{folder} stays locked by another process") from error
            time.sleep(_PAUSE)
        else:
            return
