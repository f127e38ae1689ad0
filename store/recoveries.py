"""What recovery looks for, a page at a time and in key order; each repair moves rows by the ordinary verbs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from statemachine.allocations import AllocationState
from statemachine.attempts import AttemptState
from store.engine import Connection
from store.merges import Merge
from store.rows import many
from store.tasks import Task

PAGE = 500
# One statement for so many tasks: far from the time a statement may take, and long enough that round trips are nothing.
MASS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A running task whose worker is gone (`dead`) or whose lease is over."""

    id: int
    lease_epoch: int
    dead: bool
    attempt_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeued:
    """A task that was queued again with many others, and a workspace of it that is out of use; one row for each."""

    id: int
    attempt_id: UUID | None
    number: int | None
    attempt_state: AttemptState | None
    why: str
    allocation_id: UUID | None
    allocation_state: AllocationState | None
    epoch: int | None
    host: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head and base the refs of an open task ought to hold."""

    id: int
    head: str
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Which task an attempt belongs to, and whether it ended."""

    id: UUID
    task_id: int
    ended: bool


def requeue(
    db: Connection, *, host: str, dead: Collection[int], actor: str, after: int = 0, limit: int = MASS
) -> list[Requeued]:
    """Queue a page of lost tasks again in one statement: those of which nothing on this host is to be looked at.

    It knows only the last rows of the two tables of settlement: where anything else may apply (a stop, a
    cancellation, a newer context or policy, a spent budget, a third loss), the task is left for `interrupted`.
    """
    return many(db, Requeued, "requeue_lost", host=host, dead=list(dead), actor=actor, after=after, limit=limit)


def interrupted(db: Connection, *, dead: Collection[int] = (), after: int = 0, limit: int = PAGE) -> list[Interrupted]:
    """List running tasks that lost their worker; `dead` names workers that are proven gone."""
    return many(db, Interrupted, "list_interrupted", dead=list(dead), after=after, limit=limit)


def overdue_merges(db: Connection, *, after: int = 0, limit: int = PAGE) -> list[Merge]:
    """List merges whose lease and push time are over."""
    return many(db, Merge, "list_merging", after=after, limit=limit)


def exhausted(db: Connection, *, after: int = 0, limit: int = PAGE) -> list[Task]:
    """List queued tasks whose budget is spent."""
    return many(db, Task, "list_exhausted", after=after, limit=limit)


def heads(db: Connection, repository: int, *, after: int = 0, limit: int = PAGE) -> list[Head]:
    """List open tasks of a repository with what their refs ought to hold."""
    return many(db, Head, "list_repository_refs", repository=repository, after=after, limit=limit)


def owners(db: Connection, attempts: Sequence[UUID]) -> list[Owner]:
    """Find the tasks of attempts whose refs were found; one that is not there belongs to no row."""
    return many(db, Owner, "find_attempt_owners", attempts=list(attempts))
