"""Find and end what a dead worker, or a dead supervisor, left of an agent: proven to be ours, never by its name.

Proof is one of: number and start time as recorded, of this boot; the attempt's own id in the environment it was
started with; descent from a proven process; the session of the agent while the agent itself is there.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from statemachine.texts import quote
from workspace.agents import proctree

MARKER: Final = "TASKS_ATTEMPT"
_GRACE: Final = timedelta(seconds=5)
_ROUNDS: Final = 20
_FREEZES: Final = 20
_DYING: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """Name an agent so that a later boot or a reused number cannot be taken for it. Start times are clock ticks.

    `pid` leads the session and the group `group`. `supervisor` is its parent, `marker` the attempt in its environment.
    """

    pid: int
    started: int
    group: int
    boot: str
    supervisor: int = 0
    supervisor_started: int = 0
    marker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """Describe one living process; `proven` ones are ours, the others only look like it and are never signalled."""

    process: proctree.Process
    command: str
    proven: bool


def alive(handle: Handle) -> bool:
    """Say whether the agent itself, or its supervisor, is alive."""
    return handle.boot == proctree.boot() and any(proctree.same(pid, started) for pid, started in _known(handle))


def survivors(handle: Handle) -> tuple[Survivor, ...]:
    """List what is alive of this agent. Another boot leaves nothing; an error in looking is raised, never "none"."""
    if handle.boot != proctree.boot():
        return ()
    table = {pid: process for pid, process in proctree.scan().items() if not process.gone}
    proven = _proven(handle, table)
    found = [process for pid, process in table.items() if pid in proven or _looks_like(handle, process)]
    return tuple(
        Survivor(process=process, command=quote(proctree.command_line(process.pid)), proven=process.pid in proven)
        for process in found
        if process.pid not in _ourselves(table)
    )


def end_survivors(handle: Handle, *, grace: timedelta = _GRACE) -> bool:
    """End what is proven ours; True when nothing is left, neither proven nor doubtful."""
    if handle.boot != proctree.boot():
        return True
    asked = _beneath(handle)
    for process in asked:
        proctree.send(process, signal.SIGTERM)
        proctree.send(process, signal.SIGCONT)
    proctree.await_gone(asked, grace.total_seconds())
    for _ in range(_ROUNDS):
        frozen = _freeze(handle)
        if not frozen:
            break
        for process in frozen:
            proctree.send(process, signal.SIGKILL)
        proctree.await_gone(frozen, _DYING)
    _end_supervisor(handle)
    return not survivors(handle)


def _known(handle: Handle) -> tuple[tuple[int, int], ...]:
    return (handle.pid, handle.started), (handle.supervisor, handle.supervisor_started)


def _proven(handle: Handle, table: dict[int, proctree.Process]) -> set[int]:
    roots = {pid for pid, started in _known(handle) if pid in table and table[pid].started == started}
    if handle.pid in roots:  # a session is entered by birth only, and its number is not reused while its leader lives
        roots |= {process.pid for process in table.values() if process.session == handle.group}
    if handle.marker:
        entry = os.fsencode(f"{MARKER}={handle.marker}")
        roots |= {process.pid for process in _later(handle, table) if proctree.carries(process.pid, entry)}
    return roots | {process.pid for process in proctree.descendants(roots, table)}


def _looks_like(handle: Handle, process: proctree.Process) -> bool:
    return process.started >= handle.started and handle.group in {process.group, process.session}


def _later(handle: Handle, table: dict[int, proctree.Process]) -> list[proctree.Process]:
    return [process for process in table.values() if process.started >= handle.started]


def _ourselves(table: dict[int, proctree.Process]) -> set[int]:
    """Whoever asks is not a survivor, nor is anybody it descends from."""
    found: set[int] = set()
    pid = os.getpid()
    while pid in table and pid not in found:
        found.add(pid)
        pid = table[pid].parent
    return found


def _beneath(handle: Handle) -> list[proctree.Process]:
    """List the proven ones but the supervisor, which is needed last: it adopts and collects the others."""
    return [found.process for found in survivors(handle) if found.proven and found.process.pid != handle.supervisor]


def _freeze(handle: Handle) -> list[proctree.Process]:
    """Stop all of them until no new one appears: what is stopped cannot fork."""
    known: list[proctree.Process] = []
    for _ in range(_FREEZES):
        found = _beneath(handle)
        if {process.pid for process in found} <= {process.pid for process in known}:
            return found
        for process in found:
            proctree.send(process, signal.SIGSTOP)
        known = found
    return known


def _end_supervisor(handle: Handle) -> None:
    """Give it the time to leave by itself, having nothing left to watch."""
    now = proctree.look(handle.supervisor) if handle.supervisor else None
    if now is None or now.started != handle.supervisor_started:
        return
    proctree.send(now, signal.SIGCONT)
    if not proctree.await_gone([now], _DYING):
        proctree.send(now, signal.SIGKILL)
        proctree.await_gone([now], _DYING)
