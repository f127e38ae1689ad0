"""Start an agent held, let it go, and end it with everything it started.

Between worker and agent stands a small supervisor of our own (supervise.py). Nothing here depends on the thread that
launched: any thread may wait for or stop a running agent.
"""

from __future__ import annotations

import contextlib
import socket
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.agents import proctree, supervise
from workspace.agents.capture import Capture
from workspace.agents.channel import Channel, Message
from workspace.agents.running import GRACE, Exit, Job, Leftover, Running
from workspace.agents.survivors import MARKER, Handle, Survivor, alive, end_survivors, survivors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from workspace.agents.guards import Guard

__all__ = [
    "GRACE",
    "Exit",
    "Handle",
    "Held",
    "Launch",
    "Leftover",
    "Running",
    "Survivor",
    "alive",
    "end_survivors",
    "start",
    "survivors",
]

_STARTING: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Say what to run, where, and for how long.

    `environment` is the whole of it. `output` must not exist yet. `identity` is the device and inode the folder must
    still have right before the exec; by default those it has at `start`. `enclosed` says that the command is a wall
    around the agent (supervise.py), `limits` the kernel's own by the names of `resource` without RLIMIT_; `secrets`
    are masked in the output.
    """

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    output: Path
    time_limit: timedelta | None = None
    identity: tuple[int, int] | None = None
    enclosed: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    guards: Sequence[Guard] = ()
    secrets: Sequence[str] = field(default=(), repr=False)


class Held:
    """An agent that is there, with a handle worth recording, and has not run one instruction of its own."""

    def __init__(self, job: Job) -> None:
        self._job: Job | None = job
        self.handle = job.handle

    def let_go(self) -> Running:
        """Let the agent run. Once; a supervisor that is gone by now shows in the Exit."""
        job = self._give_up()
        job.channel.send({"do": "go"})
        return Running(job)

    def abandon(self) -> None:
        """End it before it was anything. Does nothing after `let_go` or a first `abandon`."""
        if self._job is not None:
            self._give_up().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def _give_up(self) -> Job:
        if self._job is None:
            raise RuntimeError("this agent was let go or abandoned before")
        job, self._job = self._job, None
        return job


def start(launch: Launch) -> Held:
    """Start the agent held before its first instruction, or raise a Refusal with nothing left behind."""
    identity = launch.identity or _identity(launch.folder)
    with contextlib.ExitStack() as undo:
        for guard in launch.guards:
            undo.callback(guard.leave)
        capture = _capture(launch)
        undo.callback(capture.finish)
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        undo.callback(channel.close)
        with theirs:
            supervisor = _start_supervisor(launch, theirs.fileno(), capture.inlet)
        undo.callback(_discard, supervisor)
        capture.seal()
        channel.send(_order(launch, identity))
        report = channel.receive(_STARTING)
        if report is None or report["started"] is None:
            raise _failed("it did not report")
        for guard in launch.guards:
            guard.admit(report["agent"])
        undo.pop_all()
    return Held(
        Job(
            supervisor=supervisor,
            channel=channel,
            capture=capture,
            handle=_handle(launch, supervisor.pid, report),
            contained=report["contained"],
            time_limit=launch.time_limit,
            guards=tuple(launch.guards),
        )
    )


def _identity(folder: Path) -> tuple[int, int]:
    try:
        now = folder.lstat()
    except OSError as error:
        reason = f"the work tree {quote(str(folder))} cannot be read: {error.strerror}"
        raise Refusal("workspace_missing", reason, path=str(folder)) from error
    if not stat.S_ISDIR(now.st_mode):
        reason = f"the work tree {quote(str(folder))} is not a folder"
        raise Refusal("workspace_mismatch", reason, path=str(folder))
    return now.st_dev, now.st_ino


def _capture(launch: Launch) -> Capture:
    try:
        return Capture(launch.output, secrets=launch.secrets)
    except OSError as error:
        raise _failed(str(error)) from error


def _start_supervisor(launch: Launch, descriptor: int, output: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", supervise.__file__, str(descriptor)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=launch.environment,  # cut here: what the launcher has can be read in /proc
            pass_fds=(descriptor,),
            start_new_session=True,
            umask=0o077,
        )
    except (OSError, ValueError) as error:
        raise _failed(str(error)) from error


def _order(launch: Launch, identity: tuple[int, int]) -> Message:
    return {
        "argv": list(launch.argv),
        "environment": dict(launch.environment),
        "folder": str(launch.folder),
        "identity": list(identity),
        "enclosed": launch.enclosed,
        "limits": dict(launch.limits),
    }


def _handle(launch: Launch, supervisor: int, report: Message) -> Handle:
    parent = proctree.look(supervisor)
    return Handle(
        pid=report["agent"],
        started=report["started"],
        group=report["agent"],
        boot=proctree.boot(),
        supervisor=supervisor,
        supervisor_started=parent.started if parent else 0,
        marker=launch.environment.get(MARKER, ""),
    )


def _discard(supervisor: subprocess.Popen[bytes]) -> None:
    supervisor.kill()
    supervisor.wait()


def _failed(reason: str) -> Refusal:
    return Refusal(
        "launch_failed",
        f"the supervisor of the agent could not be started: {quote(reason)}",
        hint="look at free memory and at the limits on processes and open files, then run the task again",
    )
