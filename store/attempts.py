"""Attempts: admitted, launched, remembered; how they end is in settlements."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.refusals import LeaseLost, NotFound, Refusal
from store.engine import Connection
from store.rows import document, many, one
from store.tasks import Task, get


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One row of `attempt`: what it was admitted with, and how it ended."""

    id: UUID
    task_id: int
    number: int
    epoch: int
    kind: AttemptKind
    item_id: str | None
    revision: int
    context: int
    policy_version: int
    base: str
    executor: str
    worker_id: int
    allocation_id: UUID | None
    state: AttemptState
    first_reason: StopReason | None
    admitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    handle: dict[str, Any] | None
    links_digest: str | None
    exit_code: int | None
    isolation_failure: str | None
    failure_code: str | None
    failure: str
    manifest_digest: str | None
    outcome: str | None
    commit: str | None
    evidence: dict[str, Any]
    active_task: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What the launch brings back: when it began by the database's clock, and the budget that is left."""

    started_at: datetime
    version: int
    lease_expires: datetime
    budget_left: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Id:
    id: UUID


def admit(db: Connection, task: Task, *, attempt: UUID, kind: AttemptKind, item: str | None) -> Attempt:
    """Admit an attempt under the caller's lease, before anything is made for it.

    Raises `LeaseLost`, or `not_admitted` where a stop, a finding or a new context came first.
    """
    admitted = one(
        db,
        Attempt,
        "admit_attempt",
        task=task.id,
        epoch=task.lease_epoch,
        context=task.context,
        attempt=attempt,
        kind=kind,
        item=item,
    )
    if admitted is None:
        _refused(db, task.id, task.lease_epoch, "not_admitted")
    return admitted


def launch(
    db: Connection, attempt: Attempt, *, allocation: UUID, generation: int, links_digest: str | None
) -> Launched:
    """Mark an attempt running, at the second boundary: whatever it was admitted with must still hold.

    Raises `LeaseLost`, or `not_launched`; then nothing was started and settlement says how it ends.
    """
    launched = one(
        db,
        Launched,
        "launch_attempt",
        task=attempt.task_id,
        epoch=attempt.epoch,
        attempt=attempt.id,
        allocation=allocation,
        generation=generation,
        links_digest=links_digest,
    )
    if launched is None:
        _refused(db, attempt.task_id, attempt.epoch, "not_launched")
    return launched


def note_handle(db: Connection, attempt: Attempt, handle: dict[str, Any]) -> None:
    """Remember which process the agent is, before it is let go."""
    noted = one(db, _Id, "note_handle", attempt=attempt.id, epoch=attempt.epoch, handle=document(handle))
    if noted is None:
        raise LeaseLost(task=attempt.task_id, epoch=attempt.epoch)


def note_isolation_failure(db: Connection, attempt: Attempt, failure: str) -> None:
    """Remember that the isolation layer failed before any later stop is weighed against it."""
    one(db, _Id, "note_isolation_failure", attempt=attempt.id, epoch=attempt.epoch, failure=failure)


def get_attempt(db: Connection, attempt: UUID) -> Attempt:
    """Read one attempt."""
    found = one(db, Attempt, "get_attempt", attempt=attempt)
    if found is None:
        raise NotFound("attempt_not_found", f"there is no attempt a-{attempt.hex}", hint="tasks list")
    return found


def active(db: Connection, task: int) -> Attempt | None:
    """Read the attempt of a task that has not ended."""
    return one(db, Attempt, "active_attempt", task=task)


def listing(db: Connection, task: int) -> list[Attempt]:
    """List a task's attempts in the order they were admitted."""
    return many(db, Attempt, "list_attempts", task=task)


def _refused(db: Connection, task: int, epoch: int, code: str) -> NoReturn:
    now = get(db, task)
    if now.running_epoch != epoch:
        raise LeaseLost(task=task, epoch=epoch)
    raise Refusal(
        code,
        f"task {task} changed before its attempt began: a stop, a finding, a new revision or a spent budget",
        hint=f"tasks show {task}",
        task=task,
        version=now.version,
    )
