"""An agent at work: wait for it, stop it, and learn how it ended."""

from __future__ import annotations

import math
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from statemachine.texts import quote
from workspace.agents import proctree, supervise
from workspace.agents.survivors import Handle, Survivor, end_survivors, survivors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workspace.agents.capture import Capture, Captured
    from workspace.agents.channel import Channel, Message
    from workspace.agents.guards import Guard

GRACE: Final = timedelta(seconds=supervise.GRACE)
_ENDING: Final = supervise.PATIENCE + 10.0
_LEAVING: Final = 10.0
_LOOK: Final = 1.0
_SUPERVISOR: Final = quote("the agent's supervisor, which somebody else ended")
_STOPPED: Final = frozenset("Tt")


@dataclass(frozen=True, slots=True)
class Leftover:
    """Name a process that outlived the agent; `command` is quoted, for it is the agent's text."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """Say how it ended. Exactly one of `code`, `signal`, `launch_error` is set; none if that is not known."""

    code: int | None = None
    signal: int | None = None
    launch_error: str | None = None
    leftovers: tuple[Leftover, ...] = ()
    """Everything that outlived the agent, ended by now or `remaining`; never empty where the supervisor was lost."""
    remaining: tuple[Leftover, ...] = ()
    """Processes that nothing could end: the tree is not dead and must not be read as if it were."""
    output: Captured
    timed_out: bool = False
    broken: str = ""
    """The limit for which it was ended, or which it was found to have broken; empty where none was."""
    supervisor_lost: bool = False
    """Something ended the supervisor: nobody knows the exit, nor whether every process was found."""
    contained: bool = True
    """False where the kernel cannot hand orphans to the supervisor (not Linux)."""

    @property
    def proven_gone(self) -> bool:
        """True when the kernel itself said that nothing of the agent is left."""
        return self.contained and not (self.remaining or self.supervisor_lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a held and a running agent are made of. Owns the supervisor, the channel to it, the capture, the guards."""

    supervisor: subprocess.Popen[bytes]
    channel: Channel
    capture: Capture
    handle: Handle
    contained: bool
    time_limit: timedelta | None
    guards: tuple[Guard, ...] = ()

    def broken(self) -> str:
        """Ask the guards."""
        return next(filter(None, (guard.broken() for guard in self.guards)), "")

    def close(self) -> Captured:
        """Hang up, collect the supervisor, dismiss the guards, finish the output."""
        self.channel.close()
        try:
            self.supervisor.wait(_LEAVING)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            self.supervisor.wait()
        remarks = [remark for guard in self.guards if (remark := guard.remark())]
        for guard in self.guards:
            guard.leave()
        return self.capture.finish("".join(f"\nweighlock: {remark}\n" for remark in remarks))


class Running:
    """An agent at work. Its limits are kept by `wait`, its time on a clock nobody can set. Safe from any thread."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.handle = job.handle
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._exit: Exit | None = None
        self._expired = False
        self._broken = ""
        self._glance = self._started

    def wait(self, timeout: timedelta) -> Exit | None:
        """Wait so long for the end; None when it is still running. Ends an agent that is past one of its limits."""
        with self._lock:
            self._listen(min(timeout.total_seconds(), self._time_left()), until=self._is_broken)
            if self._exit is None and self._time_left() <= 0:
                self._expired = True
                self._stop(supervise.GRACE)
            elif self._exit is None and self._is_broken():
                self._stop(0.0)  # it takes what others need: no time to say goodbye
            return self._exit

    def stop(self, grace: timedelta = GRACE) -> Exit:
        """End the whole tree: TERM, `grace`, KILL; return when it is gone. Asking twice does no harm."""
        self._ask(grace.total_seconds())  # before the lock: somebody else's wait ends early
        with self._lock:
            return self._exit or self._stop(grace.total_seconds())

    def _time_left(self) -> float:
        limit = self._job.time_limit
        return math.inf if limit is None else limit.total_seconds() - (time.monotonic() - self._started)

    def _is_broken(self) -> bool:
        """Look at the guards about once a second; what was broken once stays so."""
        now = time.monotonic()
        if not self._broken and now - self._glance >= _LOOK:
            self._glance = now
            self._broken = self._job.broken()
        return bool(self._broken)

    def _ask(self, grace: float) -> None:
        self._job.channel.send({"do": "stop", "grace": grace})

    def _stop(self, grace: float) -> Exit:
        self._ask(grace)
        self._listen(grace + _ENDING)
        self._exit = self._exit or self._lost()
        return self._exit

    def _listen(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Take reports until the last one, the end of the time, `until`, or the end of the supervisor."""
        deadline = time.monotonic() + seconds
        while self._exit is None:
            report = self._job.channel.receive(min(_LOOK, deadline - time.monotonic()))
            if report is not None:
                self._exit = self._heard(report)
            elif self._job.channel.closed:
                self._exit = self._lost()
            else:
                self._wake()
                if time.monotonic() >= deadline or until():
                    return

    def _heard(self, report: Message) -> Exit | None:
        match report["report"]:
            case "refused":
                error = f"the agent could not be started: {quote(report['error'])}"
                return Exit(launch_error=error, contained=self._job.contained, output=self._job.close())
            case "ended":
                self._broken = self._broken or self._job.broken()
                return self._ended(report)
        return None

    def _ended(self, report: Message) -> Exit:
        status: int | None = report["status"]
        remaining = _reported(report["remaining"])
        inside: Message | None = report["inside"]
        unstarted = None if inside is None else _unstarted(inside, stopped=report["stopped"])
        if unstarted:
            status = None
        left = _reported(report["leftovers"] if inside is None else inside.get("left", ()))
        return Exit(
            code=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            launch_error=unstarted,
            leftovers=tuple(dict.fromkeys((*left, *remaining))),
            remaining=remaining,
            timed_out=self._expired and report["stopped"],
            broken=self._broken,
            contained=self._job.contained,
            output=self._job.close(),
        )

    def _lost(self) -> Exit:
        """Look a second time, now that nobody adopts the orphans any more, and end what is provably ours."""
        self._job.supervisor.kill()
        self._job.supervisor.wait()
        found = [one for one in survivors(self.handle) if one.process.pid != self.handle.pid]
        end_survivors(self.handle)
        return Exit(
            leftovers=(Leftover(self.handle.supervisor, _SUPERVISOR), *_seen(found)),
            remaining=_seen(survivors(self.handle)),
            timed_out=self._expired,
            broken=self._broken,
            supervisor_lost=True,
            contained=self._job.contained,
            output=self._job.close(),
        )

    def _wake(self) -> None:
        """Let a supervisor go on that its agent has stopped: nobody else would tell of the end."""
        now = proctree.look(self._job.supervisor.pid)
        if now is not None and now.state in _STOPPED:
            self._job.supervisor.send_signal(signal.SIGCONT)


def _unstarted(inside: Message, *, stopped: bool) -> str | None:
    """Say why no agent came to run behind its wall, by what was said from there."""
    if inside.get("error"):
        return f"the agent could not be started: {quote(str(inside['error']))}"
    if not inside.get("up") and not stopped:
        return "the sandbox could not be made: its last words are in the output"
    return None


def _reported(processes: Iterable[tuple[int, str]]) -> tuple[Leftover, ...]:
    return tuple(Leftover(pid, quote(command)) for pid, command in processes)


def _seen(found: Iterable[Survivor]) -> tuple[Leftover, ...]:
    return tuple(Leftover(one.process.pid, one.command) for one in found)
