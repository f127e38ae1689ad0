"""Leases: claim a task, take one over, keep it, ask it to stop."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from statemachine.attempts import AttemptKind, StopReason
from statemachine.refusals import LostRace
from statemachine.tasks import TaskEvent, TaskState
from store.engine import Connection
from store.rows import many, one, run, said
from store.tasks import Question, Task, move


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a heartbeat brings back for one task that is still held."""

    id: int
    lease_epoch: int
    lease_expires: datetime
    context: int
    version: int
    stop_reason: StopReason | None
    cancel_requested: bool


def claim(
    db: Connection,
    *,
    worker: int,
    actor: str,
    kinds: Sequence[AttemptKind],
    executors: Sequence[str],
    lease: timedelta,
    task: int | None = None,
) -> Task | None:
    """Claim the next queued task this worker serves: one statement, one round trip; none where nothing is due.

    A task whose budget is spent goes to its limit gate instead, in a second statement that believes
    nothing of the first, and the next one is tried.
    """
    asked = {"worker": worker, "actor": actor, "kinds": list(kinds), "executors": list(executors), "lease": lease}
    while row := one(db, Task, "claim_task", **asked, task=task):
        if row.state is TaskState.running:
            return row
        hit_limit(db, row, actor=actor)
    return None


def hit_limit(db: Connection, task: Task, *, actor: str) -> None:
    """Put a queued task whose budget is spent at its limit gate; silent where it moved meanwhile."""
    with suppress(LostRace):
        move(db, task, TaskEvent.hit_limit, actor=actor, question=Question(reason="the budget is spent"))


def take_over(
    db: Connection, *, task: int, epoch: int, worker: int, actor: str, lease: timedelta, proven_dead: bool, reason: str
) -> Task | None:
    """Take over a task from a dead worker: from here the zombie is fenced; none where it was not dead after all."""
    return one(
        db,
        Task,
        "take_over_task",
        task=task,
        epoch=epoch,
        worker=worker,
        actor=actor,
        lease=lease,
        proven_dead=proven_dead,
        reason=said(reason),
    )


def beat(db: Connection, *, worker: int, held: Iterable[tuple[int, int]], lease: timedelta) -> list[Beat]:
    """Extend the leases of (task, epoch) pairs; a pair without an answer is lost."""
    pairs = list(held)
    return many(
        db,
        Beat,
        "beat_leases",
        worker=worker,
        tasks=[task for task, _ in pairs],
        epochs=[epoch for _, epoch in pairs],
        lease=lease,
    )


def held(db: Connection, *, worker: int) -> list[Task]:
    """List the tasks a worker holds while no attempt is active."""
    return many(db, Task, "list_held", worker=worker)


def give_up(db: Connection, *, task: int, epoch: int) -> None:
    """Give a lease up without moving its task: whoever looks next may take it over."""
    run(db, "expire_lease", task=task, epoch=epoch)


def signals(db: Connection, *, held: Iterable[tuple[int, int]]) -> list[Beat]:
    """Read what a worker must act on, without extending anything; a pair without an answer is lost."""
    pairs = list(held)
    tasks, epochs = [task for task, _ in pairs], [epoch for _, epoch in pairs]
    return many(db, Beat, "read_signals", tasks=tasks, epochs=epochs)


def request_stop(
    db: Connection,
    *,
    task: int,
    why: StopReason,
    actor: str,
    cancel: bool = False,
    epoch: int | None = None,
) -> Task | None:
    """Ask a running task to stop; the first reason recorded stays. None where it is not running."""
    return one(db, Task, "request_stop", task=task, why=why, actor=actor, cancel=cancel, epoch=epoch)
