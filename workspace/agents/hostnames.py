"""Names of hosts an agent may reach: `name` or `name:port`, 443 where none is; never an address, never a pattern."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

PORT: Final = 443
_LABEL: Final = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"({_LABEL}\.)+{_LABEL}|{_LABEL}")
_LONGEST: Final = 253
_HIGHEST: Final = 65_535


def listed(values: Iterable[object]) -> tuple[str, ...]:
    """Return the names of a list in the one way they are written. Raises `ValueError` for what is none."""
    return tuple(spelled(value) for value in values)


def spelled(value: object) -> str:
    """Write a name with its port."""
    name, _, port = str(value).strip().lower().partition(":")
    name = name.removesuffix(".")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST or is_address(name) or name == "localhost":
        raise ValueError(f"{value!r} is not the name of a host, such as api.example.com")
    if port and not (port.isdigit() and 0 < int(port) <= _HIGHEST):
        raise ValueError(f"{value!r} has no port from 1 to {_HIGHEST}")
    return f"{name}:{int(port or PORT)}"


def is_address(name: str) -> bool:
    """Tell whether something is an address of a machine and no name, in any spelling a resolver takes for one."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return bool(re.fullmatch(r"[0-9]*|0x[0-9a-f]*", name.removesuffix(".").rpartition(".")[2]))
    return True
