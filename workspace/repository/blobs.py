"""Read many blobs in one stream from a runner repository."""

import contextlib
import fcntl
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, Final, cast

from statemachine.refusals import Refusal
from workspace.repository import git
from workspace.repository.repositories import RunnerRepository

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    """Hold a blob that is being read; its pieces can be taken once, and must be before the next blob."""

    id: str
    size: int
    stream: IO[bytes]

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes."""
        left = self.size
        while left:
            piece = self.stream.read(min(left, _CHUNK))
            if not piece:
                raise _missing(self.id)
            left -= len(piece)
            yield piece
        self.stream.read(1)  # a newline ends each


def blobs(repo: RunnerRepository, wanted: Sequence[str], patience: timedelta = git.PATIENCE) -> Iterator[Blob]:
    """Yield the blobs in the order they are wanted."""
    if not wanted:
        return
    asked = "".join(f"{identity}\n" for identity in wanted).encode("ascii")
    # Buffered output: git flushes after each object otherwise, which is slow for small files.
    call = git.stream("cat-file", "--batch", "--buffer", git_dir=repo.path, stdin=asked, timeout=patience)
    with call as pipe, _widened(pipe) as stream:
        for identity in wanted:
            header = stream.readline().split()
            if header[1:2] != [b"blob"]:
                raise _missing(identity)
            yield Blob(identity, int(header[2]), stream)


@contextlib.contextmanager
def _widened(pipe: IO[bytes]) -> Iterator[IO[bytes]]:
    """Let more of a stream be on its way at once; with the usual 64 KiB both ends mostly wait for each other."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK)
    wide = io.BufferedReader(cast("io.RawIOBase", pipe), _CHUNK)
    try:
        yield wide
    finally:
        wide.detach()


def _missing(identity: str) -> Refusal:
    return Refusal(
        "object_missing",
        f"the runner repository lacks {identity}, or cannot read it",
        hint="restore the runner repository from a backup, or add the repository again",
        object=identity,
    )
