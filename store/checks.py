"""Check results: how each command of the plan ended on one exact head; the latest counts."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from statemachine.texts import clean
from store.engine import Connection
from store.rows import many, run

TAIL_LIMIT = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The latest result of one command on one head."""

    command: str
    exit_code: int | None
    passed: bool
    tail: str
    at: datetime
    attempt_id: UUID


def add(
    db: Connection, *, task: int, attempt: UUID, head: str, command: str, exit_code: int | None, passed: bool, tail: str
) -> None:
    """Remember how one check ended; one that ran past its time did not pass, whatever it exited with."""
    run(
        db,
        "add_check_result",
        task=task,
        attempt=attempt,
        head=head,
        command=command,
        exit_code=exit_code,
        passed=passed,
        tail=clean(tail, TAIL_LIMIT),
    )


def latest(db: Connection, *, task: int, head: str) -> list[Result]:
    """List the latest result of each command on this head."""
    return many(db, Result, "list_check_results", task=task, head=head)
