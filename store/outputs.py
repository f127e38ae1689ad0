"""Outputs: files that hold what an attempt said or left; the row names them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from statemachine.texts import clean
from store.engine import Connection
from store.rows import many, run

TAIL_LIMIT = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One file of an attempt: its log or its partial diff."""

    id: int
    attempt_id: UUID
    kind: str
    host: str
    path: str
    size: int
    sha256: str
    truncated: bool
    tail: str
    saved_at: datetime


def add(
    db: Connection,
    *,
    attempt: UUID,
    kind: str,
    host: str,
    path: str,
    size: int,
    sha256: str,
    truncated: bool,
    tail: str = "",
) -> None:
    """Name a file of an attempt; naming it again replaces what was said of it."""
    run(
        db,
        "add_output",
        attempt=attempt,
        kind=kind,
        host=host,
        path=path,
        size=size,
        sha256=sha256,
        truncated=truncated,
        tail=clean(tail, TAIL_LIMIT),
    )


def listing(db: Connection, task: int) -> list[Output]:
    """List the files of a task's attempts."""
    return many(db, Output, "list_outputs", task=task)
