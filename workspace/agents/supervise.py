"""The agent's parent: starts it held, lets it go, and ends everything it left behind.

The worker starts one per agent, as `python -I supervise.py FD` with the agent's own environment, and speaks with it
over the socket FD (channel.py):

    worker      {"argv", "environment", "folder", "identity", "enclosed", "limits"}, then {"do": "go"}, then perhaps
                {"do": "stop", "grace"}
    supervisor  {"report": "held", "agent", "started", "contained"}, {"report": "refused", "error"} or
                {"report": "running"}, and last {"report": "ended", "status", "stopped", "leftovers", "remaining",
                "inside"}

An enclosed command is not the agent but a wall around it (a sandbox, whose end is the end of everything inside): what
asks to end goes to those within, and what is left is what somebody inside (inside.py) says.

The worker hanging up means stop. As a subreaper the supervisor becomes the parent of every orphan beneath it, so the
kernel's "no child left" proves that the whole tree is gone. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

if not __package__:  # run by its path: its own siblings, not those of another copy that is installed
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workspace.agents import proctree
from workspace.agents.channel import Channel, Message
from workspace.agents.holds import Start, hold, let_go, open_folder

GRACE = 5.0
"""Seconds between asking a process to end and ending it."""
PATIENCE = 30.0
"""Seconds for which killing goes on; what is alive then cannot be killed (or forks too fast) and is reported."""
_SETTLE = 0.25  # the other end of a pipeline needs a moment to notice that the agent is gone
_FREEZES = 20
_CHASES = 200
_LISTED = 100
_SAID = 1 << 16  # as much as a pipe holds
_SET_CHILD_SUBREAPER, _SET_DUMPABLE = 36, 4


class Supervisor:
    """Holds, watches and ends one agent and everything beneath it."""

    def __init__(self, channel: Channel, start: Start, wakeup: int) -> None:
        self._channel = channel
        self._agent = start.pid
        self._inside = start.report
        self._wakeup = wakeup
        self.status: int | None = None
        """The agent's exit code, or minus the signal that ended it; None while it runs."""

    def watch(self) -> float | None:
        """Wait for the agent's exit or a stop; return the grace of a stop, None when the agent ended by itself."""
        while not self._reap() and self.status is None:
            message = self._channel.pending()
            if message or self._channel.closed:
                return float((message or {}).get("grace", GRACE))
            self._wait(None)
        return None

    def end(self, grace: float | None) -> Message:
        """End what is left, gently and then not; report what outlived the agent and what outlived even that.

        After a stop only what had to be killed counts as having outlived the agent: all were asked at the same time.
        """
        stopped = grace is not None
        left = [] if stopped or self._enclosed or self._childless_within(_SETTLE) else self._seen()
        if not self._ask_to_end(GRACE if grace is None else grace) and stopped and self.status is not None:
            left = [] if self._enclosed else self._seen()
        remaining = [] if self._kill() else self._seen()
        said = {"leftovers": left, "remaining": remaining, "inside": self._told()}
        return {"status": self.status, "stopped": stopped, **said}

    @property
    def _enclosed(self) -> bool:
        return self._inside is not None

    def _told(self) -> Message | None:
        """Return what was said from inside, all lines in one; empty where nobody came to speak there."""
        if self._inside is None:
            return None
        os.set_blocking(self._inside, False)
        said: Message = {}
        with contextlib.suppress(OSError, ValueError):
            for line in os.read(self._inside, _SAID).splitlines():
                said |= json.loads(line)
        return said

    def _ask_to_end(self, grace: float) -> bool:
        """Ask twice: a shell between fork and exec loses the signal, and an agent may start more while it ends."""
        if self._reap():
            return True
        deadline = time.monotonic() + grace
        self._signal(signal.SIGTERM, signal.SIGCONT, wall=False)
        while self.status is None and not self._reap() and (left := deadline - time.monotonic()) > 0:
            self._wait(left)
        self._signal(signal.SIGTERM, signal.SIGCONT, wall=False)
        return self._childless_within(deadline - time.monotonic())

    def _kill(self) -> bool:
        """Freeze before the kill: what is stopped cannot fork, so each round closes in on a tree that grows."""
        deadline = time.monotonic() + PATIENCE
        while not self._reap():
            if time.monotonic() > deadline:
                return False
            self._freeze()
            self._signal(signal.SIGKILL)
            self._chase()
            self._wait(_SETTLE)
        return True

    def _freeze(self) -> None:
        known: set[int] = set()
        for _ in range(_FREEZES):
            found = {process.pid for process in self._signal(signal.SIGSTOP)}
            if found <= known:
                return
            known |= found

    def _chase(self) -> None:
        """Kill children as they are adopted: a process that forks and exits at once is never there for a whole scan."""
        for _ in range(_CHASES):
            if self._reap():
                return
            for pid in proctree.children(os.getpid()):
                # Nobody else collects a direct child, so its number cannot have passed on.
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)

    def _signal(self, *numbers: signal.Signals, wall: bool = True) -> list[proctree.Process]:
        """Signal whole groups: the kernel does that in one step no fork can slip through.

        A `wall` that is asked to end ends at once and takes with it all who would have liked to end by themselves.
        """
        living = self._living()
        spared = {os.getpgrp(), *([self._agent] if self._enclosed and not wall else [])}
        groups: dict[int, list[proctree.Process]] = {}
        for process in living:
            groups.setdefault(process.group, []).append(process)
        for group, members in groups.items():
            if group not in spared and any(map(proctree.still, members)):
                for number in numbers:
                    with contextlib.suppress(OSError):
                        os.killpg(group, number)
        return living

    def _seen(self) -> list[tuple[int, str]]:
        """Tell of what is there; of one that forks and exits faster than a scan, its number at least."""
        pids = [process.pid for process in self._living()] or proctree.children(os.getpid())
        return [(pid, proctree.command_line(pid)) for pid in pids[:_LISTED]]

    def _living(self) -> list[proctree.Process]:
        found = proctree.descendants({os.getpid()}, proctree.scan())
        return [process for process in found if not process.gone]

    def _reap(self) -> bool:
        """Collect the dead; True when no child is left, which is to say: nothing at all beneath us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == self._agent and self.status is None:
                self.status = os.waitstatus_to_exitcode(status)
            elif pid == 0:
                return False

    def _childless_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not (childless := self._reap()) and (left := deadline - time.monotonic()) > 0:
            self._wait(left)
        return childless

    def _wait(self, seconds: float | None) -> None:
        """Wait for a child's end or for the worker."""
        poll = select.poll()
        poll.register(self._wakeup, select.POLLIN)
        if not self._channel.closed:
            poll.register(self._channel, select.POLLIN)
        for descriptor, _ in poll.poll(None if seconds is None else int(seconds * 1000) + 1):
            if descriptor == self._wakeup:
                os.read(self._wakeup, 4096)
            else:
                self._channel.fill()


def _prepare() -> tuple[int, bool]:
    """Make this process hard to end by accident and impossible to read for its agent; return the wake-up pipe."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        with contextlib.suppress(OSError, ValueError):  # a few belong to the threads library
            signal.signal(number, signal.SIG_IGN)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return read, _contain()


def _contain() -> bool:
    """Become the parent of all orphans beneath; False where the kernel cannot do that."""
    if not proctree.LINUX:
        return False
    libc = ctypes.CDLL(None)
    # Not dumpable: /proc/PID/fd, /proc/PID/mem and ptrace are closed to the agent, whose user is the same.
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    return bool(libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _let_go_of_output() -> None:
    """Hold the agent's output no longer, so that its end can be seen."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)


def main(descriptor: int) -> None:
    """Serve one agent from hold to end."""
    channel = Channel(socket.socket(fileno=descriptor))
    wakeup, contained = _prepare()
    order = channel.receive()
    if order is None:
        return
    pinned = open_folder(order["folder"])  # an inode in use cannot become another folder's
    start = hold(order)
    _let_go_of_output()
    held = proctree.look(start.pid)
    channel.send({"report": "held", "agent": start.pid, "started": held and held.started, "contained": contained})
    if channel.receive() is None:
        return  # the held agent sees the end of its pipe and leaves without having been anything
    error = let_go(start)
    os.close(pinned)
    channel.send({"report": "refused", "error": error} if error else {"report": "running"})
    supervisor = Supervisor(channel, start, wakeup)
    channel.send({"report": "ended", **supervisor.end(supervisor.watch())})


if __name__ == "__main__":
    main(int(sys.argv[1]))
