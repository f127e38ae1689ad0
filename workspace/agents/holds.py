"""The agent before it is one: a fork that waits for its word, makes itself clean, and is replaced by the program.

Standard library only; part of the supervisor's program.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from workspace.agents.channel import Message

REPORT = 200
"""The descriptor on which somebody inside of a wall around the agent may say how it went."""
_HELD, _GO = b"h", b"g"


class Start(NamedTuple):
    """The forked agent before its exec: `go` wants one byte, `verdict` ends empty when the exec happened.

    `report` is what comes from inside of a wall, and not there where none is.
    """

    pid: int
    go: int
    verdict: int
    report: int | None


def hold(order: Message) -> Start:
    """Fork the agent in its own session, stopped before its exec."""
    go_read, go = os.pipe()
    verdict, verdict_write = os.pipe()
    report, report_write = os.pipe() if order["enclosed"] else (None, None)
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.close(verdict)
        if report_write is not None:
            os.dup2(report_write, REPORT)
        _become(order, go_read, verdict_write)
    for end in (go_read, verdict_write, report_write):
        if end is not None:
            os.close(end)
    os.read(verdict, len(_HELD))
    return Start(pid, go, verdict, report)


def let_go(start: Start) -> str:
    """Let the agent go; return why it could not be executed, or nothing."""
    with contextlib.suppress(BrokenPipeError):  # ended by somebody while it was held: its status will say so
        os.write(start.go, _GO)
    os.close(start.go)
    error = b"".join(iter(lambda: os.read(start.verdict, 4096), b""))
    return json.loads(error) if error else ""


def _become(order: Message, go: int, verdict: int) -> NoReturn:
    """Turn this fork into the agent. Whatever goes wrong is told apart from an agent that exits 127."""
    try:
        os.setsid()
        os.write(verdict, _HELD)
        if os.read(go, len(_GO)) == _GO:
            _clean()
            _limit(order["limits"])
            _enter(order["folder"], order["identity"])
            _execute(order["argv"], order["environment"])
    except BaseException as error:  # noqa: BLE001 - this process must not return into the supervisor's code
        os.write(verdict, json.dumps(str(error)).encode("ascii"))
    os._exit(127)


def _clean() -> None:
    """Give the agent what a fresh login would have: signals as usual, private files, no core dumps in the tree."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _limit(limits: dict[str, int]) -> None:
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))


def _enter(folder: str, identity: list[int]) -> None:
    """Change into the folder, if it is still the one the worker saw: else an agent would run on something else."""
    descriptor = open_folder(folder)
    now = os.fstat(descriptor)
    if [now.st_dev, now.st_ino] != identity:
        raise OSError("the work tree was replaced before the agent was started")
    os.fchdir(descriptor)


def _execute(argv: list[str], environment: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - no shell is the point
    except OSError as error:  # its file name is the last folder of the search path, which helps nobody
        raise OSError(f"{error.strerror}: {argv[0]}") from error


def open_folder(folder: str) -> int:
    """Open a folder that is one, not a link to one."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
