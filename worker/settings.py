"""What a worker is told: how much it takes at once, what it serves, and how it signs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from statemachine.attempts import AttemptKind
from workspace.agents.confinement import Confinement

LEASE: Final = timedelta(seconds=90)
POLL: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """Hold a worker's settings; `agents` names commands, `identity` is the name and address commits are made with."""

    name: str
    slots: int = 1
    lease: timedelta = LEASE
    poll: timedelta = POLL
    kinds: tuple[AttemptKind, ...] = tuple(AttemptKind)
    executors: tuple[str, ...] = ("sandbox",)
    agents: Mapping[str, str] = field(default_factory=dict)
    default_agent: str | None = None
    identity: tuple[str, str] | None = None
    confinement: Confinement = field(default_factory=Confinement)
    grace: timedelta = timedelta(minutes=5)
