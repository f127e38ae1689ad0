"""What an agent may use up: processes, memory, and never the last of the disk that the database may lie on, too."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from statemachine.refusals import Refusal
from workspace.agents import cgroups, proctree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.agents.confinement import Confinement
    from workspace.agents.guards import Guard

_OTHERS: Final = 4  # the kernel counts by user, and agents started later are the same: ours are counted by looking
_NEARLY: Final = 0.95  # the wall's own processes count, and threads do for the kernel and not for us
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Guards:
    """Hold what watches one agent, and the limits the kernel keeps for each of its processes."""

    watching: tuple[Guard, ...]
    rlimits: Mapping[str, int]


def guards(confinement: Confinement, disk: Path, uid: int) -> Guards:
    """Set up the watch over one agent that is about to be started.

    Raises:
        Refusal: `disk_low`.
    """
    space = Space(disk, confinement)
    if space.broken():
        raise Refusal(
            "disk_low",
            f"too little is free on the disk of {disk} to start an agent",
            hint="make room, or lower the setting sandbox.min_free",
            path=str(disk),
        )
    bounds = cgroups.bound(confinement)
    if bounds is not None:
        return Guards((space, bounds), {})
    most = {"NPROC": _tasks_of(uid) + _OTHERS * confinement.processes, "DATA": confinement.memory}
    return Guards((space, Census(confinement)), most)


def kept_by(confinement: Confinement) -> str:
    """Say who keeps the limits on this host."""
    bounds = cgroups.bound(confinement)
    if bounds is None:
        return "limits kept for each process and by a look a second (no control groups here, so none on processors)"
    bounds.leave()
    return "limits kept by control groups"


@dataclass(frozen=True, slots=True)
class Space:
    """Watch the disk a root lies on: an agent that fills it is ended before everything else there stops working."""

    disk: Path
    confinement: Confinement

    def admit(self, pid: int) -> None:
        """Do nothing: the disk is everybody's."""

    def broken(self) -> str:
        """Look at free blocks, and at free inodes where the file system counts them."""
        found = os.statvfs(self.disk)
        share = self.confinement.min_free_share
        least = min(self.confinement.min_free, share * found.f_blocks * found.f_frsize)
        full = found.f_bavail * found.f_frsize < least or found.f_favail < share * found.f_files
        return "disk_full" if full else ""

    def remark(self) -> str:
        """Say nothing: the attempt tells which limit it broke."""
        return ""

    def leave(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class Census:
    """Count an agent's processes and memory where the kernel does not do it for the whole of them."""

    confinement: Confinement
    _pid: int = field(default=0)

    def admit(self, pid: int) -> None:
        """Remember whose to count."""
        self._pid = pid

    def broken(self) -> str:
        """Count now; what grows faster than once a second meets the kernel's limits for each process first."""
        living = proctree.descendants({self._pid}, proctree.scan()) if self._pid else []
        if sum(_resident(process.pid) for process in living) > self.confinement.memory:
            return "memory_limit"
        return "process_limit" if len(living) > _NEARLY * self.confinement.processes else ""

    def remark(self) -> str:
        """Say nothing: the attempt tells which limit it broke."""
        return ""

    def leave(self) -> None:
        """Do nothing."""


def _resident(pid: int) -> int:
    try:
        return int(Path("/proc", str(pid), "statm").read_bytes().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _tasks_of(uid: int) -> int:
    """Count what the kernel counts for a user already: each thread of each of its processes."""
    return sum(_threads(pid) for pid in proctree.scan() if _owner(pid) == uid)


def _owner(pid: int) -> int:
    try:
        return Path("/proc", str(pid)).stat().st_uid
    except OSError:
        return -1


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return 0
