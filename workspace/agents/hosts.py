"""Which machine and which process this is, in words that are never used twice."""

import os
from dataclasses import dataclass
from pathlib import Path

from workspace.agents import proctree


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Name a process so that no other can be mistaken for it: `id` is the machine and its pid namespace."""

    id: str
    boot: str
    pid: int
    started: str


def this_host() -> Host:
    """Describe the calling process."""
    process = proctree.look(os.getpid())
    return Host(id=host_id(), boot=proctree.boot(), pid=os.getpid(), started=str(process.started if process else 0))


def host_id() -> str:
    """Name this machine and pid namespace: pids are only comparable within one."""
    return f"{_machine()}/{_namespace()}"


def gone(host: Host) -> bool:
    """Tell whether a process of this same host is proven gone: another boot, or its pid and start time are no more."""
    if host.id != host_id():
        return False
    return host.boot != proctree.boot() or not proctree.same(host.pid, int(host.started))


def _machine() -> str:
    for place in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            found = Path(place).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if found:
            return found
    return os.uname().nodename


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "pid"
