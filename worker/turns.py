"""Turns: what a held task does next, again and again, until it is no longer this worker's."""

import threading

from statemachine.attempts import AttemptKind
from statemachine.decisions import Facts
from statemachine.refusals import LostRace
from statemachine.steps import (
    AwaitApproval,
    Cancel,
    GiveUp,
    Halt,
    HitLimit,
    RunChecks,
    RunItem,
    Step,
    Submit,
    next_step,
)
from statemachine.tasks import TaskEvent, TaskState
from store import steps, tasks
from store.tasks import Question, Task
from worker.checks import run_checks
from worker.items import run_item
from worker.leases import Lease
from worker.station import Station

_PLAN = "plan"
_PAUSE = 0.05


def drive(station: Station, task: Task, lease: Lease) -> Task:
    """Take a held task from step to step until it rests or is released; raises `LeaseLost` where it was taken away."""
    while task.state is TaskState.running:
        lease.check()
        try:
            task = _turn(station, task, lease)
        except LostRace:
            # Somebody changed the row between reading and moving: read again, decide again, but not in a hot loop.
            threading.Event().wait(_PAUSE)
            with station.database.connection() as db:
                task = tasks.get(db, task.id)
    return task


def _turn(station: Station, task: Task, lease: Lease) -> Task:
    with station.database.connection() as db:
        now = tasks.get(db, task.id)
        facts = steps.facts(db, task=task.id, epoch=lease.epoch)
    step = next_step(facts)
    if isinstance(step, RunItem | RunChecks) and (station.draining.is_set() or not _served(station, now, step)):
        return _move(station, now, lease, TaskEvent.release, "draining" if station.draining.is_set() else "not served")
    return _take(station, now, lease, step)


def _take(station: Station, task: Task, lease: Lease, step: Step) -> Task:  # noqa: PLR0911 - one for each kind of step
    match step:
        case RunItem(item=item, kind=kind):
            return run_item(station, task, lease, item=item, kind=kind)
        case RunChecks(commands=commands):
            return run_checks(station, task, lease, commands=commands)
        case Cancel():
            return _move(station, task, lease, TaskEvent.cancel, "cancelled by a person")
        case Halt():
            return _move(station, task, lease, TaskEvent.halt, "stopped by a person between items")
        case HitLimit():
            return _move(station, task, lease, TaskEvent.hit_limit, "the budget is spent")
        case AwaitApproval(item=item):
            return _move(station, task, lease, TaskEvent.await_approval, _asked(item), subject=_subject(item))
        case GiveUp(item=item):
            return _move(station, task, lease, TaskEvent.give_up, f"{item or 'a check'} failed and no retry is left")
        case Submit():
            return _move(station, task, lease, TaskEvent.submit, "every item is done", complete=True)


def _move(
    station: Station,
    task: Task,
    lease: Lease,
    event: TaskEvent,
    reason: str,
    *,
    subject: tuple[str, ...] = (),
    complete: bool = False,
) -> Task:
    facts = Facts(
        task=task.id,
        owed_findings=task.owed_findings,
        owed_pauses=task.owed_pauses,
        items_done=complete,
        checks_passed=complete,
    )
    with station.database.connection() as db:
        return tasks.move(
            db,
            task,
            event,
            actor=station.actor,
            facts=facts,
            reason=reason,
            question=Question(reason=reason, subjects=subject),
            epoch=lease.epoch,
        )


def _served(station: Station, task: Task, step: RunItem | RunChecks) -> bool:
    kind = step.kind if isinstance(step, RunItem) else AttemptKind.check
    return kind in station.settings.kinds and task.executor in station.settings.executors


def _asked(item: str | None) -> str:
    return f"item {item} asks for approval before it runs" if item else "the plan asks for approval before it runs"


def _subject(item: str | None) -> tuple[str, ...]:
    return (f"item:{item}" if item else _PLAN,)
