"""How closely agents are held in: what this installation allows, and what a repository's policy says about it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

from statemachine.refusals import Refusal
from statemachine.texts import quote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GIBIBYTE: Final = 1 << 30
USER: Final = 60_903
"""Who agents are where the worker is the superuser: a number that neither Debian, Red Hat nor systemd gives away."""


class Network(StrEnum):
    """Say how far an agent reaches: nowhere, to listed names through a proxy, or wherever this host does."""

    off = "off"
    hosts = "hosts"
    on = "on"


class History(StrEnum):
    """Say how much of the repository's past an agent's own git holds."""

    full = "full"
    shallow = "shallow"
    none = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """Hold what this installation allows an agent. `memory` and `min_free` are bytes, `readable` host folders.

    `min_free_share` is a part of the disk; the smaller of it and `min_free` must stay free.
    """

    user: int | None = None
    readable: tuple[Path, ...] = ()
    network: Network = Network.off
    hosts: tuple[str, ...] = ()
    processes: int = 1024
    memory: int = 4 * GIBIBYTE
    cpus: float | None = None
    min_free: int = 2 * GIBIBYTE
    min_free_share: float = 0.05

    def __str__(self) -> str:
        """Write what is otherwise than it comes; nothing where all is as it comes."""
        plain = Confinement()
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return ", ".join(f"{name} = {_told(each)}" for name, each in given.items() if each != getattr(plain, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Hold what a repository's policy says; what it leaves open the installation answers."""

    network: Network | None = None
    hosts: tuple[str, ...] = ()
    history: History = History.full
    share_objects: bool = False

    @classmethod
    def of(cls, policy: Mapping[str, Any]) -> Terms:
        """Read a policy.

        Raises:
            Refusal: `policy_invalid`.
        """
        share = policy.get("share_objects", "history")
        if share not in {"history", "repository"}:
            _invalid("share_objects", share, "history, repository")
        return cls(
            network=Network(_word(policy, "network", Network)) if "network" in policy else None,
            hosts=_hosts(policy.get("hosts", ())),
            history=History(_word(policy, "history", History)),
            share_objects=share == "repository",
        )

    @classmethod
    def of_checks(cls, policy: Mapping[str, Any]) -> Terms:
        """Read what a policy says for checks: they get no network."""
        found = cls.of(policy)
        return cls(network=Network.off, history=found.history, share_objects=found.share_objects)


def _told(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _word(policy: Mapping[str, Any], name: str, words: type[StrEnum]) -> str:
    default = next(iter(words))
    value = policy.get(name, default)
    return str(value) if value in set(words) else _invalid(name, value, ", ".join(words))


def _hosts(value: object) -> tuple[str, ...]:
    from workspace.agents.hostnames import listed  # noqa: PLC0415 - as in cli.frame.confinements

    try:
        return listed(value if isinstance(value, list | tuple) else [""])
    except ValueError:
        return _invalid("hosts", value, "a list of names, such as api.example.com or api.example.com:443")


def _invalid(name: str, value: object, wanted: str) -> NoReturn:
    raise Refusal(
        "policy_invalid",
        f"the repository's policy says {name}: {quote(str(value))}, and must say one of: {wanted}",
        name=name,
    )
