"""The setting `sandbox`: how closely agents are held in, read word by word."""

import pwd
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from workspace.agents.confinement import Confinement, Network

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST_PROCESSES: Final = 1 << 22
_LEAST_MEMORY: Final = 64 << 20


def confinement(value: object) -> Confinement:
    """Take a table of what agents may."""
    if not isinstance(value, dict):
        raise ValueError("wanted a table, such as { network = 'off', readable = ['/opt/agents'] }")  # noqa: TRY004
    if unknown := sorted(value.keys() - _READERS.keys()):
        raise ValueError(f"there is no {unknown[0]!r} in it; known are {', '.join(_READERS)}")
    read: dict[str, Any] = {name: _read(name, each) for name, each in value.items()}
    return Confinement(**read)


def _read(name: str, value: object) -> object:
    try:
        return _READERS[name](value)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None


def _user(value: object) -> int:
    if isinstance(value, str) and not value.isdigit():
        try:
            return pwd.getpwnam(value).pw_uid
        except KeyError:
            raise ValueError(f"this host has no user {value!r}") from None
    return _whole(value, 0, (1 << 32) - 2)


def _whole(value: object, least: int, most: int) -> int:
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    if type(number) is not int or not least <= number <= most:
        raise ValueError(f"wanted a whole number from {least} to {most}")
    return number


def _processes(value: object) -> int:
    return _whole(value, 16, _MOST_PROCESSES)


def _size(value: object) -> int:
    """Take a size in bytes, or a number with a unit: `512M`, `4G`."""
    match = re.fullmatch(r"(\d{1,15})\s*([KMGT]?)(?:i?B)?", str(value)) if type(value) in {int, str} else None
    if match is None:
        raise ValueError("wanted a size such as 512M or 4G")
    return int(match[1]) * _UNITS[match[2]]


def _memory(value: object) -> int:
    size = _size(value)
    if size < _LEAST_MEMORY:
        raise ValueError("wanted 64M or more")
    return size


def _cpus(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ValueError("wanted a number of processors, such as 1.5")
    return float(value)


def _share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
        raise ValueError("wanted a part of the disk, such as 0.05")
    return float(value)


def _readable(value: object) -> tuple[Path, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("wanted a list of folders")
    places = tuple(Path(each).expanduser() for each in value)
    if strange := [place for place in places if not place.is_absolute() or ".." in place.parts]:
        raise ValueError(f"wanted absolute paths, and {strange[0]} is none")
    return places


def _network(value: object) -> Network:
    if value not in set(Network):
        raise ValueError(f"wanted one of {', '.join(Network)}")
    return Network(str(value))


def _hosts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("wanted a list of names, such as api.example.com or api.example.com:443")  # noqa: TRY004
    from workspace.agents.hostnames import listed  # noqa: PLC0415 - its addresses are slow to load, and seldom needed

    return listed(value)


_READERS: Final[Mapping[str, Callable[[object], object]]] = MappingProxyType(
    {
        "user": _user,
        "readable": _readable,
        "network": _network,
        "hosts": _hosts,
        "processes": _processes,
        "memory": _memory,
        "cpus": _cpus,
        "min_free": _size,
        "min_free_share": _share,
    }
)
