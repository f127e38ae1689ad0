"""Attempts: one run of one agent or of the checks, from its admission to its end."""

from enum import StrEnum
from typing import Final


class AttemptKind(StrEnum):
    """Say what an attempt is for; `execute` and `fix` write, the others must leave the tree as it was."""

    execute = "execute"
    fix = "fix"
    check = "check"
    review = "review"


class AttemptState(StrEnum):
    """Say how far an attempt came, or how it ended."""

    pending = "pending"
    running = "running"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"
    stale = "stale"
    stopped = "stopped"
    interrupted = "interrupted"


class StopReason(StrEnum):
    """Say why an attempt was asked to stop; the first reason recorded is the one that counts."""

    user = "user"
    shutdown = "shutdown"
    stale = "stale"
    time_limit = "time_limit"


A = AttemptState
WRITING: Final = frozenset({AttemptKind.execute, AttemptKind.fix})
ACTIVE: Final = frozenset({A.pending, A.running})
ENDED: Final = frozenset(A) - ACTIVE

EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", A.pending),
    (A.pending, A.running),
    (A.pending, A.failed),
    (A.pending, A.cancelled),
    (A.pending, A.stale),
    (A.pending, A.stopped),
    (A.pending, A.interrupted),
    (A.running, A.completed),
    (A.running, A.failed),
    (A.running, A.cancelled),
    (A.running, A.stale),
    (A.running, A.stopped),
    (A.running, A.interrupted),
)
