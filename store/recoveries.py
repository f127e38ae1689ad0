"""What recovery looks for, a page at a time and in key order; each repair moves rows by the ordinary verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from statemachine.workers import WorkerState
from store.engine import Connection
from store.merges import Merge
from store.rows import many
from store.tasks import Task

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A running task whose lease is dead, or whose worker is of this host and may be proven dead.

    `recovers` says that a recovery pass holds it, which serves no kind of work.
    """

    id: int
    lease_epoch: int
    lease_worker: int
    expired: bool
    host: str
    boot_id: str
    pid: int
    started: str
    worker_state: WorkerState
    recovers: bool
    attempt_id: UUID | None


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


def interrupted(db: Connection, *, host: str, after: int = 0, limit: int = PAGE) -> list[Interrupted]:
    """List running tasks that may have lost their worker."""
    return many(db, Interrupted, "list_interrupted", host=host, after=after, limit=limit)


def overdue_merges(db: Connection, *, after: int = 0, limit: int = PAGE) -> list[Merge]:
    """List merges whose lease and push time are over."""
    return many(db, Merge, "list_merging", after=after, limit=limit)


def exhausted(db: Connection) -> list[Task]:
    """List queued tasks whose budget is spent."""
    return many(db, Task, "list_exhausted")


def heads(db: Connection, repository: int) -> list[Head]:
    """List the open tasks of a repository with what their refs ought to hold."""
    return many(db, Head, "list_repository_refs", repository=repository)


def owners(db: Connection, attempts: Sequence[UUID]) -> list[Owner]:
    """Find the tasks of attempts whose refs were found; one that is not there belongs to no row."""
    return many(db, Owner, "find_attempt_owners", attempts=list(attempts))
