"""Every setting, once: its name, how it is read, what it is without being set, and what it means."""

import os
import pwd
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.frame.durations import duration

if TYPE_CHECKING:
    from workspace.agents.confinement import Confinement

MOST_SLOTS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Name the author of the commits this installation makes."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Hold what this command runs with."""

    database_url: str | None
    direct_database_url: str | None
    state: Path
    root: Path
    executor: str
    actor: str
    agents: Mapping[str, str]
    identity: Identity
    lease: timedelta
    grace: timedelta
    slots: int
    sandbox: "Confinement"


class Field(NamedTuple):
    """Describe one setting; a default may depend on the settings above it."""

    name: str
    read: Callable[[object], object]
    default: Callable[[Mapping[str, object]], object]
    meaning: str


def text(value: object) -> str:
    """Take one line of text."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("wanted one line of text")
    return value


def folder(value: object) -> Path:
    """Take the absolute path of a folder; `~` is the home of the user."""
    path = Path(text(value)).expanduser()
    if not path.is_absolute():
        raise ValueError("wanted an absolute path")
    return path


def time(value: object) -> timedelta:
    """Take a duration, or a number of seconds."""
    return duration(f"{value}s" if type(value) is int else str(value))


def slots(value: object) -> int:
    """Take how many tasks a worker runs at once."""
    digits = str(value) if type(value) in (int, str) else ""
    if not re.fullmatch("[0-9]{1,3}", digits) or not 1 <= int(digits) <= MOST_SLOTS:
        raise ValueError(f"wanted a whole number from 1 to {MOST_SLOTS}")
    return int(digits)


def agents(value: object) -> Mapping[str, str]:
    """Take a table from the name of an agent to its command."""
    if not isinstance(value, dict):
        raise ValueError("wanted a table: name = 'command'")  # noqa: TRY004 - one kind of error for every bad value
    for name, command in value.items():
        if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,63}", name):
            raise ValueError(f"{name!r} cannot name an agent: lower-case letters, digits, '-' and '_' only")
        text(command)
    return MappingProxyType(dict(value))


def identity(value: object) -> Identity:
    """Take `Name <address>`, or a table of name and email."""
    if isinstance(value, dict):
        value = f"{value.get('name', '')} <{value.get('email', '')}>" if set(value) == {"name", "email"} else ""
    match = re.fullmatch(r"([^<>\s][^<>]*?) <([^<>\s]+)>", value) if isinstance(value, str) else None
    if match is None or not match[0].isprintable():
        raise ValueError("wanted 'Name <address>', or a table of name and email")
    return Identity(name=match[1], email=match[2])


def sandbox(value: object) -> "Confinement":
    """Take a table of what agents in a sandbox may."""
    from cli.frame.confinements import confinement  # noqa: PLC0415 - help is read without any of it

    return confinement(value)


def user() -> str:
    """Name the user of the operating system this process belongs to."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def base_folder(variable: str, fallback: str) -> Path:
    """Find a folder of the user by its variable, where that holds an absolute path, else below the home."""
    named, home = Path(os.environ.get(variable, "")), Path("~").expanduser()
    if not (named.is_absolute() or home.is_absolute()):
        raise ValueError(f"this user has no home; set it, or {variable}")
    return (named if named.is_absolute() else home / fallback) / "weighlock"


def masked(value: object) -> str:
    """Write a setting for a person, without the password a database URL may hold."""
    hidden = re.sub(r"(://[^/@]*?:)[^/]*@", r"\1***@", str(value))
    return re.sub(r"(?i)(password=)('(?:[^'\\]|\\.)*'|[^\s&]*)", r"\1***", hidden)


FIELDS: Final = (
    Field("database_url", text, lambda _: None, "PostgreSQL 15 or newer; without it, the embedded server"),
    Field("direct_database_url", text, lambda _: None, "the same database without a pooler between"),
    Field("state", folder, lambda _: base_folder("XDG_STATE_HOME", ".local/state"), "where the embedded server lives"),
    Field("root", folder, lambda known: Path(str(known["state"])) / "root", "repositories and workspaces live here"),
    Field("executor", text, lambda _: "sandbox", "where agents run, unless the task or its repository says otherwise"),
    Field("actor", text, lambda _: user(), "who decides; without it, the user of the operating system"),
    Field("agents", agents, lambda _: MappingProxyType({}), "names for agent commands"),
    Field("identity", identity, lambda _: Identity(name="Weighlock", email="weighlock@localhost"), "author of commits"),
    Field("lease", time, lambda _: timedelta(seconds=90), "how long a silent worker keeps its task"),
    Field("grace", time, lambda _: timedelta(seconds=60), "how long a stopping worker waits for its agents to settle"),
    Field("slots", slots, lambda _: 1, "how many tasks a worker runs at once"),
    Field("sandbox", sandbox, lambda _: sandbox({}), "what agents in a sandbox may see, reach and use up"),
)
