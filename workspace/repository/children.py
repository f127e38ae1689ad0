"""Short-lived child processes: a group of their own, bounded in time and output, never left behind."""

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias

Input: TypeAlias = bytes | Path | IO[bytes]
Bound: TypeAlias = Literal["", "time", "output"]

_CHUNK: Final = 1 << 16
_SLICE: Final = 0.1  # seconds between looks at a child that says nothing


@dataclass(slots=True, kw_only=True)
class Pipe:
    """One pipe of a child and what of it is kept; past `room` the rest is dropped, or ends the child if `strict`."""

    stream: IO[bytes]
    room: int
    strict: bool = False
    kept: bytearray = field(default_factory=bytearray)

    def take(self) -> Literal["more", "end", "over"]:
        """Read once what is there."""
        piece = os.read(self.stream.fileno(), _CHUNK)
        over = len(self.kept) + len(piece) > self.room
        self.kept += piece[: self.room - len(self.kept)]
        return "end" if not piece else "over" if over and self.strict else "more"


def scratch(content: bytes = b"") -> IO[bytes]:
    """Make an unnamed private file that holds `content`, rewound; the caller closes it."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("weighlock"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content)
    file.seek(0)
    return file


@contextlib.contextmanager
def opened(stdin: Input) -> Iterator[IO[bytes]]:
    """Give what a child shall read as a file; one that was given stays its owner's."""
    if not isinstance(stdin, bytes | Path):
        yield stdin
        return
    with scratch(stdin) if isinstance(stdin, bytes) else stdin.open("rb") as file:
        yield file


def spawn(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: IO[bytes],
    stderr: IO[bytes] | int,
    umask: int,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own: no terminal to ask on, one group to end."""
    return subprocess.Popen(
        command,
        env=env,
        cwd=folder or "/",
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        umask=umask,
        start_new_session=True,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a child and its group at once; one that was already reaped is left alone, its id may be another's."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def tended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Leave no child behind, whatever happens to its parent's code."""
    try:
        with process:
            try:
                yield process
            except BaseException:
                kill(process)
                raise
    finally:
        kill(process)


@contextlib.contextmanager
def alarm(process: subprocess.Popen[bytes], timeout: timedelta) -> Iterator[threading.Event]:
    """End a child that is still there when the time is up, and tell so."""
    rung = threading.Event()

    def ring() -> None:
        rung.set()
        kill(process)

    timer = threading.Timer(timeout.total_seconds(), ring)
    timer.daemon = True
    timer.start()
    try:
        yield rung
    finally:
        timer.cancel()
        timer.join()


def gather(processes: Sequence[subprocess.Popen[bytes]], pipes: Sequence[Pipe], timeout: timedelta) -> Bound:
    """Read every pipe to its end, then await every child; where a bound was broken, say which and end them all.

    A pipe that a grandchild keeps open after the children are gone is not waited for.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    broken = _read(processes, pipes, deadline)
    try:
        for process in processes:
            if broken:
                kill(process)
            process.wait(max(0.0, deadline - time.monotonic()) if not broken else None)
    except subprocess.TimeoutExpired:
        broken = "time"
        for process in processes:
            kill(process)
            process.wait()
    return broken


def _read(processes: Sequence[subprocess.Popen[bytes]], pipes: Sequence[Pipe], deadline: float) -> Bound:
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe.stream, selectors.EVENT_READ, pipe)
        while selector.get_map():
            ready = selector.select(_SLICE)
            for key, _ in ready:
                match key.data.take():
                    case "end":
                        selector.unregister(key.fileobj)
                    case "over":
                        return "output"
            if time.monotonic() > deadline:
                return "time"
            if not ready and all(process.poll() is not None for process in processes):
                return ""
    return ""
