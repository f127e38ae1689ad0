"""Merge attempts: written down before the push, ended only by what the target shows."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from statemachine.merges import MergeState
from statemachine.refusals import LostRace
from store.engine import Connection
from store.rows import many, one, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One row of `merge_attempt`."""

    id: UUID
    task_id: int
    state: MergeState
    strategy: str
    target: str
    branch: str
    old_tip: str | None
    head: str
    commit: str
    actor: str
    host: str
    begun_at: datetime
    lease_expires: datetime
    pushing_at: datetime | None
    ended_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a merge is going to do: which commit to which branch of which target, from which tip."""

    strategy: str
    target: str
    branch: str
    old_tip: str | None
    head: str
    commit: str


def begin(db: Connection, *, merge: UUID, task: int, plan: Plan, actor: str, host: str, lease: timedelta) -> Merge:
    """Write a merge down before anything is pushed; the caller moved the task to `merging` before."""
    begun = one(
        db,
        Merge,
        "begin_merge",
        merge=merge,
        task=task,
        strategy=plan.strategy,
        target=plan.target,
        branch=plan.branch,
        old_tip=plan.old_tip,
        head=plan.head,
        commit=plan.commit,
        actor=actor,
        host=host,
        lease=lease,
    )
    assert begun is not None  # noqa: S101 - an INSERT ... RETURNING gives its row or raises
    return begun


def mark_pushing(db: Connection, merge: UUID) -> Merge:
    """Say durably that the push is about to start; from here only the target knows."""
    return _there(one(db, Merge, "mark_pushing", merge=merge), merge)


def end(db: Connection, merge: UUID, state: MergeState, *, reason: str) -> Merge:
    """End a merge, once."""
    return _there(one(db, Merge, "end_merge", merge=merge, state=state, reason=said(reason)), merge)


def live(db: Connection, task: int) -> Merge | None:
    """Read the merge of a task that is being submitted."""
    return one(db, Merge, "live_merge", task=task)


def listing(db: Connection, task: int) -> list[Merge]:
    """List a task's merges in order."""
    return many(db, Merge, "list_merges", task=task)


def _there(row: Merge | None, merge: UUID) -> Merge:
    if row is None:
        raise LostRace("conflict", f"merge m-{merge.hex} was ended meanwhile")
    return row
