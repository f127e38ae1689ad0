"""Publications: what the refs of a task ought to be, from its rows; refs are copies and are repaired from here."""

from dataclasses import dataclass
from uuid import UUID

from store.engine import Connection
from store.rows import one


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The refs a task's rows ask for: its base, its live head, discarded commits and attempts that are settled.

    `epoch` says who held the task last: it rises with every claim.
    """

    task: int
    epoch: int
    runner: UUID
    base: str
    head: str
    discarded: dict[str, str]
    settled: list[UUID]


def of_task(db: Connection, task: int) -> Publication:
    """Read what the refs of a task ought to be."""
    found = one(db, Publication, "read_publication", task=task)
    assert found is not None  # noqa: S101 - the caller holds a task that cannot be deleted
    return found
