"""Bounds the kernel keeps for a whole tree of processes, where this host lets us make control groups of our own."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from workspace.agents import proctree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.agents.confinement import Confinement

_MOUNTS: Final = Path("/proc/self/mounts")
_OURS: Final = Path("/proc/self/cgroup")
_NEEDED: Final = frozenset({"pids", "memory"})
_KNOWN: Final = _NEEDED | {"cpu"}
_NAME: Final = "weighlock"
_PERIOD: Final = 100_000  # microseconds


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bound one agent: control groups made for it, by controller. Either all of them are there or none."""

    groups: Mapping[str, Path]

    def admit(self, pid: int) -> None:
        """Put the held agent in; everything it starts is born there."""
        for group in set(self.groups.values()):
            (group / "cgroup.procs").write_text(f"{pid}\n", "ascii")

    def broken(self) -> str:
        """Ask the kernel what it had to refuse or end."""
        memory, pids = self.groups["memory"], self.groups["pids"]
        if _counted(memory / "memory.events", "oom_kill") or _counted(memory / "memory.oom_control", "oom_kill"):
            return "memory_limit"
        return "process_limit" if _counted(pids / "pids.events", "max") else ""

    def remark(self) -> str:
        """Say nothing: the attempt tells which limit it broke."""
        return ""

    def leave(self) -> None:
        """Remove the groups; nothing is alive in them any more."""
        for group in set(self.groups.values()):
            with contextlib.suppress(OSError):
                group.rmdir()


def bound(confinement: Confinement) -> Bounds | None:
    """Make control groups for one agent; None where this host has none for us."""
    homes = _homes()
    if not homes.keys() >= _NEEDED:
        return None
    _sweep(set(homes.values()))
    ours = proctree.look(os.getpid())
    name = f"{_NAME}-{os.getpid()}-{ours.started if ours else 0}-{uuid4().hex}"
    bounds = Bounds({controller: home / name for controller, home in homes.items()})
    try:
        for group in sorted(set(bounds.groups.values())):
            group.mkdir()
        for place, value in _values(bounds.groups, confinement):
            place.write_text(f"{value}\n", "ascii")
    except OSError:
        bounds.leave()
        return None
    return bounds


def _sweep(homes: set[Path]) -> None:
    """Remove groups whose worker died before it could."""
    for group in (found for home in homes for found in home.glob(f"{_NAME}-*-*-*")):
        _, pid, started, _ = group.name.split("-")
        if pid.isdigit() and started.isdigit() and not proctree.same(int(pid), int(started)):
            with contextlib.suppress(OSError):
                group.rmdir()


def _values(groups: Mapping[str, Path], confinement: Confinement) -> list[tuple[Path, str]]:
    memory, pids = groups["memory"], groups["pids"]
    quota = int((confinement.cpus or 0) * _PERIOD)
    unified = (memory / "memory.max").exists()
    values = [(pids / "pids.max", str(confinement.processes))]
    if unified:
        values += [(memory / "memory.max", str(confinement.memory)), (memory / "memory.swap.max", "0")]
    else:
        both = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        values += [(memory / each, str(confinement.memory)) for each in both if (memory / each).exists()]
    if quota and "cpu" in groups:
        cpu = groups["cpu"]
        values += [(cpu / "cpu.max", f"{quota} {_PERIOD}")] if unified else [(cpu / "cpu.cfs_quota_us", str(quota))]
    return [each for each in values if each[0].exists()]


def _homes() -> dict[str, Path]:
    """Find the folder of each controller in which we may make groups."""
    try:
        mounts = [line.split() for line in _MOUNTS.read_text("ascii").splitlines()]
        ours = [line.split(":", 2) for line in _OURS.read_text("ascii").splitlines()]
    except (OSError, UnicodeDecodeError):
        return {}
    paths = {word: path for _, words, path in ours for word in words.split(",")}
    found: dict[str, Path] = {}
    for _, place, kind, options, *_ in mounts:
        if kind == "cgroup2" and "" in paths:
            found |= _delegated(Path(place), paths[""])
        elif kind == "cgroup":
            known = (word for word in options.split(",") if word in _KNOWN and word in paths)
            found |= {word: Path(place) / paths[word].lstrip("/") for word in known}
    return {word: place for word, place in found.items() if os.access(place, os.W_OK)}


def _delegated(mount: Path, path: str) -> dict[str, Path]:
    """Find the folder that was handed to us: the one above our own, for a group of processes cannot be divided."""
    home = (mount / path.lstrip("/")).parent if path != "/" else mount
    try:
        handed = any(os.getxattr(home, f"{kind}.delegate") == b"1" for kind in ("user", "trusted"))
    except OSError:
        handed = False
    if not handed:
        return {}
    for controller in sorted(_KNOWN):  # one that is not there would have the others refused, too
        with contextlib.suppress(OSError):
            (home / "cgroup.subtree_control").write_text(f"+{controller}\n", "ascii")
    with contextlib.suppress(OSError):
        return dict.fromkeys((home / "cgroup.subtree_control").read_text("ascii").split(), home)
    return {}


def _counted(file: Path, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        lines = (line.split() for line in file.read_text("ascii").splitlines())
        return next((int(words[1]) for words in lines if words[0] == name), 0)
    return 0
