"""Drive helper processes that walk a tree: jobs go to whichever is idle, until a deadline or the caller's own abort."""

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, Final, NoReturn, Self

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.disk.names import text
from workspace.inspection import frames, walk
from workspace.inspection.troubles import Reason, TroubleError

HELPERS: Final = 2
_GLANCE: Final = 0.05  # seconds between looks at the caller's wish to abort
_LEAVING: Final = 5.0
_CHUNK: Final = 1 << 18

_HINTS: Final[dict[str, str]] = {
    Reason.changed: "something still wrote there after the agent was ended: look for a surviving process"
}

Job = tuple[Any, ...]


class InspectionFailed(Refusal):
    """Say that a tree could not be inspected; what is not inspected is not clean."""

    def __init__(self, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__("inspection_failed", message, hint=hint, **facts)


class InspectionAborted(Exception):  # noqa: N818 - nothing went wrong
    """Say that the caller's own abort ended the inspection, and nothing else did."""


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Tell whatever stops a look at a tree as a failed inspection; only the caller's own abort is none."""
    try:
        yield
    except (InspectionFailed, InspectionAborted):
        raise
    except TroubleError as trouble:
        _fail(trouble.reason, trouble.path, trouble.detail)
    except Refusal as refusal:
        raise InspectionFailed(refusal.message, hint=refusal.hint, reason=refusal.code) from refusal
    except OSError as error:
        path = text(os.fsencode(error.filename)) if isinstance(error.filename, str | bytes) else ""
        _fail(Reason.unexpected, path, str(error.strerror or error))
    except Exception as error:
        # A defect of ours on a tree made to find one: what was not inspected is not clean.
        raise InspectionFailed(f"{type(error).__name__}: {quote(str(error))}", reason="unexpected") from error


@dataclass(frozen=True, slots=True)
class Bounds:
    """Hold when a walk must end; `ends` is on the monotonic clock."""

    ends: float
    allowed: timedelta
    aborted: Callable[[], bool]

    @classmethod
    def starting_now(cls, allowed: timedelta, aborted: Callable[[], bool]) -> Self:
        """Start the clock."""
        return cls(ends=time.monotonic() + allowed.total_seconds(), allowed=allowed, aborted=aborted)

    def check(self) -> None:
        """Raise when it is over."""
        if self.aborted():
            raise InspectionAborted
        if time.monotonic() > self.ends:
            seconds = self.allowed.total_seconds()
            raise InspectionFailed(
                f"the tree could not be inspected within {seconds:g} s",
                hint="look for what made it so large or so slow, then retry with a longer inspection deadline",
                reason="deadline",
                seconds=seconds,
            )


@dataclass(slots=True)
class _Helper:
    process: subprocess.Popen[bytes]
    heard: frames.Assembly = field(default_factory=frames.Assembly)
    job: Job | None = None

    @property
    def stdin(self) -> IO[bytes]:
        return _pipe(self.process.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        return _pipe(self.process.stdout)


class Walk:
    """Own the helpers of one walk; leaving the block ends them, and locked folders get their modes back."""

    def __init__(self, tree: int, *, algorithm: str, spool: Path | None, bounds: Bounds) -> None:
        self._bounds = bounds
        self._helpers: list[_Helper] = []
        with contextlib.ExitStack() as undo:
            undo.callback(self._end)
            for number in range(HELPERS):
                pack = os.fsencode(spool / f"blobs-{number}.pack") if spool else b""
                self._helpers.append(_Helper(_start(tree, algorithm, pack)))
            undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, jobs: deque[Job]) -> Iterator[tuple[Job, Any]]:
        """Yield each job with its answer, in the order they end; jobs may be added meanwhile."""
        with selectors.DefaultSelector() as selector:
            for helper in self._helpers:
                selector.register(helper.stdout, selectors.EVENT_READ, helper)
            while self._busy(jobs):
                self._bounds.check()
                for key, _ in selector.select(_GLANCE):
                    yield from _hear(key.data, jobs)

    def finish(self) -> dict[str, int]:
        """Seal the packs, give locked folders their modes back, and return these."""
        for helper in self._helpers:
            _give(helper, deque([("finish",)]))
        # Two helpers may have found the same folder locked; both saw the mode its owner gave it.
        return {path: mode for _, unlocked in self.run(deque()) for path, mode in unlocked.items()}

    def _busy(self, jobs: deque[Job]) -> bool:
        for helper in self._helpers:
            if helper.job is None:
                _give(helper, jobs)
        return any(helper.job for helper in self._helpers)

    def _end(self) -> None:
        for helper in self._helpers:
            with contextlib.suppress(OSError):
                helper.stdin.close()
            helper.process.terminate()  # it gives locked folders their modes back before it leaves
        for helper in self._helpers:
            try:
                helper.process.wait(_LEAVING)
            except subprocess.TimeoutExpired:
                helper.process.kill()
                helper.process.wait()
            helper.stdout.close()


def _start(tree: int, algorithm: str, pack: bytes) -> subprocess.Popen[bytes]:
    # -S and an empty environment: nothing but the interpreter and this package has a say in what runs here.
    isolated = [sys.executable, "-I", "-S", "-X", "utf8", walk.__file__]
    return subprocess.Popen(
        [*isolated, str(tree), algorithm, pack],
        env={},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(tree,),
        start_new_session=True,
        umask=0o077,
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("the helper was started without this pipe")
    return stream


def _give(helper: _Helper, waiting: deque[Job]) -> None:
    helper.job = waiting.popleft() if waiting else None
    if helper.job is None:
        return
    try:
        # An idle helper reads the whole order before it answers, so this cannot wait for ever.
        helper.stdin.write(frames.pack(helper.job))
        helper.stdin.flush()
    except BrokenPipeError:
        _died(helper)


def _hear(helper: _Helper, waiting: deque[Job]) -> Iterator[tuple[Job, Any]]:
    piece = os.read(helper.stdout.fileno(), _CHUNK)
    if not piece:
        _died(helper)
    helper.heard.add(piece)
    answer = helper.heard.take()
    if answer is None or helper.job is None:
        return
    if "trouble" in answer:
        _fail(*answer["trouble"])
    job = helper.job
    _give(helper, waiting)
    yield job, answer["done"]


def _died(helper: _Helper) -> NoReturn:
    status = helper.process.wait()
    raise InspectionFailed(
        f"a process that inspects the tree ended by itself ({status})", reason="helper_died", status=status
    )


def _fail(reason: str, path: str, detail: str) -> NoReturn:
    where = quote(path) if path else "the tree"
    hint = _HINTS.get(reason, "look at what lies there, then decide the finding")
    raise InspectionFailed(f"{where}: {quote(detail)}", hint=hint, reason=reason, path=path, detail=detail)
