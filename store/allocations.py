"""Allocations: the only ledger of workspaces; a row exists before the first file does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from statemachine.allocations import AllocationState
from statemachine.refusals import LeaseLost, LostRace
from store.attempts import Attempt
from store.engine import Connection
from store.rows import many, one, run, said

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """One row of `allocation`: which folder of which host holds a task's work tree."""

    id: UUID
    task_id: int
    epoch: int
    host: str
    executor: str
    executor_target: str
    state: AllocationState
    generation: int
    path: str | None
    base: str | None
    baseline: str | None
    handles: dict[str, Any]
    materialised_by: UUID
    reserved_at: datetime
    ready_at: datetime | None
    ended_at: datetime | None
    reason: str
    unjudged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover(Allocation):
    """A workspace that no live attempt holds, with the process that made it."""

    worker_host: str
    boot_id: str
    pid: int
    started: str
    worker_silent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged(Allocation):
    """A workspace whose task went on without it, and the attempt whose agent's work lies there unjudged."""

    attempt_id: UUID


def reserve(db: Connection, attempt: Attempt, *, allocation: UUID, host: str) -> Allocation:
    """Reserve a workspace for an attempt; two at once: one wins, the other hears `conflict`.

    A live row of an attempt that ended is put aside: `ready` becomes `quarantined`, `reserved` becomes `failed`.
    """
    reserved = one(
        db,
        Allocation,
        "reserve_allocation",
        allocation=allocation,
        task=attempt.task_id,
        epoch=attempt.epoch,
        host=host,
        executor=attempt.executor,
        attempt=attempt.id,
    )
    if reserved is None:
        raise LeaseLost(task=attempt.task_id, epoch=attempt.epoch)
    return reserved


def ready(
    db: Connection, allocation: Allocation, *, epoch: int, path: str, base: str, baseline: str | None
) -> Allocation:
    """Say that a workspace is complete and may be attached."""
    made = one(
        db,
        Allocation,
        "ready_allocation",
        allocation=allocation.id,
        epoch=epoch,
        path=path,
        base=base,
        baseline=baseline,
    )
    if made is None:
        raise LeaseLost(task=allocation.task_id, epoch=epoch)
    return made


def end(
    db: Connection,
    allocation: Allocation,
    state: AllocationState,
    *,
    reason: str,
    path: str | None = None,
    unjudged: bool = False,
) -> Allocation:
    """Take a workspace out of use from the state the caller believes it is in; `unjudged` is for its own host to do."""
    ended = one(
        db,
        Allocation,
        "end_allocation",
        allocation=allocation.id,
        state=state,
        reason=said(reason),
        path=path,
        unjudged=unjudged,
        believed=allocation.state,
    )
    if ended is None:
        raise LostRace(
            "conflict", f"workspace w-{allocation.id.hex} changed meanwhile", hint=f"tasks show {allocation.task_id}"
        )
    return ended


def live(db: Connection, task: int) -> list[Allocation]:
    """List the reserved and ready workspaces of a task: at most one of each."""
    return many(db, Allocation, "live_allocations", task=task)


def listing(
    db: Connection, *, task: int | None = None, host: str | None = None, released: bool = False
) -> list[Allocation]:
    """List workspaces; released ones only when asked for."""
    return many(db, Allocation, "list_allocations", task=task, host=host, released=released)


def leftovers(
    db: Connection, *, host: str, silence: timedelta, after: UUID | None = None, limit: int = PAGE
) -> list[Leftover]:
    """List the reserved and ready workspaces of this host that no live attempt holds.

    A maker that was not heard of for `silence` counts as silent; one that is alive is about to put its
    workspace away itself.
    """
    return many(db, Leftover, "list_leftover_allocations", host=host, silence=silence, after=after, limit=limit)


def unjudged(db: Connection, *, host: str, after: UUID | None = None, limit: int = PAGE) -> list[Unjudged]:
    """List the workspaces of this host that nobody could judge when their tasks went on."""
    return many(db, Unjudged, "list_unjudged", host=host, after=after, limit=limit)


def judged(db: Connection, allocation: Allocation) -> bool:
    """Say that a workspace has been judged, and hold its row; tell whether that is news."""
    return one(db, Allocation, "mark_judged", allocation=allocation.id) is not None


def note_place(db: Connection, allocation: UUID, path: str) -> None:
    """Say where a workspace lies that was never ready."""
    run(db, "note_place", allocation=allocation, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Id:
    id: UUID


def known(db: Connection, allocations: Sequence[UUID]) -> set[UUID]:
    """Tell which of these workspaces have a row."""
    return {row.id for row in many(db, _Id, "find_allocations", allocations=list(allocations))}
