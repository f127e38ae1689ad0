"""Processes as the kernel lists them: who is whose child, since when, and how to signal exactly one of them.

Standard library only on Linux (the supervisor uses it); elsewhere psutil answers, if it is there.
"""

# ruff: noqa: PTH123, PTH208 - a scan opens a file per process, again and again in a race; a Path each costs half of it

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

LINUX = sys.platform == "linux"
_COMMAND_LIMIT = 1000
_GONE = frozenset("ZX")
_LOOK_AGAIN = 0.05


class Process(NamedTuple):
    """One process at one look. `started` (clock ticks since boot) tells it from a later one of the same number."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    state: str

    @property
    def gone(self) -> bool:
        """Dead, though somebody may still have to collect it."""
        return self.state in _GONE


def look(pid: int) -> Process | None:
    """Look one process up; None when there is none. Anything else that goes wrong is an error, never an absence."""
    if not LINUX:
        return _look_by_psutil(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return _parse(pid, stat.read())
    except (FileNotFoundError, ProcessLookupError):
        return None


def scan() -> dict[int, Process]:
    """List every process, by number. Some may be gone and some may be new by the time it returns."""
    table: dict[int, Process] = {}
    for pid in _numbers():
        with contextlib.suppress(OSError):
            if found := look(pid):
                table[pid] = found
    return table


def descendants(roots: Collection[int], table: dict[int, Process]) -> list[Process]:
    """Pick from `table` everything that descends from one of `roots`, without the roots."""
    children: dict[int, list[Process]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [table[pid] for pid in roots if pid in table]
    while waiting:
        parent = waiting.pop()
        # A child is never older than its parent: an older one belongs to an earlier process of the same number.
        born = [child for child in children.pop(parent.pid, ()) if child.started >= parent.started]
        found += born
        waiting += born
    return [process for process in found if process.pid not in roots]


def children(pid: int) -> list[int]:
    """List the direct children of a single-threaded process, quickly: a runaway is gone before a whole scan ends."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as listing:
            return [int(word) for word in listing.read().split()]
    except OSError:
        return [process.pid for process in scan().values() if process.parent == pid]


def same(pid: int, started: int) -> bool:
    """Say whether the process that has this number now is alive and the one that started then."""
    now = look(pid)
    return now is not None and now.started == started and not now.gone


def still(process: Process) -> bool:
    """Say whether this very process is alive."""
    return same(process.pid, process.started)


def send(process: Process, number: signal.Signals) -> bool:
    """Signal this very process; False when it is gone or not ours to signal.

    The look comes after the descriptor is held: whoever has the number then is who gets the signal.
    """
    try:
        descriptor = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return False
    try:
        if not still(process):
            return False
        if descriptor is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def await_gone(processes: Iterable[Process], seconds: float) -> bool:
    """Wait until every one of them is dead; False when the time is over first."""
    deadline = time.monotonic() + seconds
    for process in processes:
        while still(process):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            _await_change(process.pid, left)
    return True


def command_line(pid: int) -> str:
    """Return what the process says it is; its own words, so never more than a hint."""
    for name in ("cmdline", "comm"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as words:
            if text := words.read(_COMMAND_LIMIT).replace(b"\0", b" ").strip():
                return os.fsdecode(text)
    return ""


def carries(pid: int, entry: bytes) -> bool:
    """Say whether the process was started with this `NAME=value` in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environment:
            return entry in environment.read().split(b"\0")
    except OSError:
        return False


def boot() -> str:
    """Name this boot of this machine: process numbers and start times of another boot mean nothing."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as identity:
            return identity.read().strip()
    except OSError:
        import psutil  # noqa: PLC0415 - only where the kernel does not say it

        return str(int(psutil.boot_time()))


def _parse(pid: int, stat: bytes) -> Process:
    # The name stands in brackets and may hold blanks and brackets itself: count from the last one.
    fields = stat.rpartition(b")")[2].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        started=int(fields[19]),
        state=fields[0].decode("ascii"),
    )


def _numbers() -> list[int]:
    if LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    import psutil  # noqa: PLC0415 - only where there is no /proc

    return psutil.pids()


def _look_by_psutil(pid: int) -> Process | None:
    import psutil  # noqa: PLC0415 - only where there is no /proc

    try:
        process = psutil.Process(pid)
        state = "Z" if process.status() == psutil.STATUS_ZOMBIE else "S"
        started = int(process.create_time() * 100)
        return Process(pid, process.ppid(), os.getpgid(pid), os.getsid(pid), started, state)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return None


def _await_change(pid: int, seconds: float) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, AttributeError):
        time.sleep(min(seconds, _LOOK_AGAIN))
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(int(seconds * 1000) + 1)
    finally:
        os.close(descriptor)
