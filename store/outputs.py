"""Outputs: files that hold what an attempt said or left; the row names them."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOutput:
    """A file that is there already and is about to be named; `size` and `sha256` speak of what was said, uncut."""

    kind: str
    path: str
    size: int
    sha256: str
    truncated: bool = False
    tail: str = ""


def named(file: NewOutput) -> dict[str, Any]:
    """Write down what a row says of a file."""
    return {**asdict(file), "tail": clean(file.tail, TAIL_LIMIT)}


def add(db: Connection, *, attempt: UUID, host: str, file: NewOutput) -> None:
    """Name a file of an attempt; naming it again replaces what was said of it."""
    run(db, "add_output", attempt=attempt, host=host, **named(file))


def listing(db: Connection, task: int) -> list[Output]:
    """List the files of a task's attempts."""
    return many(db, Output, "list_outputs", task=task)
