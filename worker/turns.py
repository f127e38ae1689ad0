"""Turns: what a held task does next, again and again, until it is no longer this worker's."""

import threading
import time
from datetime import timedelta
from typing import Final

from statemachine.attempts import AttemptKind
from statemachine.decisions import Facts
from statemachine.failpoints import reach
from statemachine.refusals import LostRace, Refusal, Unavailable
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
from store import attempts, steps, tasks
from store.tasks import Question, Task
from worker.checks import run_checks
from worker.items import run_item
from worker.leases import Lease
from worker.patience import surely
from worker.station import Station

_PLAN = "plan"
_FIRST_PAUSE: Final = timedelta(milliseconds=50)
_LONGEST_PAUSE: Final = timedelta(seconds=5)
_PATIENCE: Final = timedelta(seconds=10)


def drive(station: Station, task: Task, lease: Lease, *, onward: bool = True) -> Task:
    """Take a held task from step to step until it rests or is released; raises `LeaseLost` where it was taken away.

    Without `onward` no agent and no check is begun: what would be run is released.
    """
    pause = _FIRST_PAUSE
    reach("claimed")
    while task.state is TaskState.running:
        lease.check()
        try:
            task = _turn(station, task, lease, onward=onward and not station.draining.is_set())
        except Refusal as trouble:
            task = _again(station, task, lease, trouble, pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            pause = _FIRST_PAUSE
    return task


def put_back(station: Station, task: Task) -> Task:
    """Bring a task that no thread drives to where others can act on it; what it waits for is decided as ever."""
    deadline = time.monotonic() + _PATIENCE.total_seconds()
    lease = Lease(task=task.id, epoch=task.lease_epoch, context=task.context, deadline=deadline)
    return drive(station, task, lease, onward=False)


def _again(station: Station, task: Task, lease: Lease, trouble: Refusal, pause: timedelta) -> Task:
    """Read a task again that changed between reading and moving, or whose move got no answer; not in a hot loop.

    An attempt that is active by now was cut short where nothing can be written down: that is for recovery.
    """
    if not isinstance(trouble, LostRace | Unavailable) and trouble.code != "not_admitted":
        raise trouble
    if isinstance(trouble, Unavailable):
        station.say(f"task {task.id}: {trouble.message} [{trouble.code}]; trying again")

    def read() -> tuple[Task, bool]:
        with station.database.connection() as db:
            return tasks.get(db, task.id), attempts.active(db, task.id) is not None

    threading.Event().wait(pause.total_seconds())
    now, cut_short = surely(lease, read)
    if cut_short:
        raise trouble
    return now


def _turn(station: Station, task: Task, lease: Lease, *, onward: bool) -> Task:
    with station.database.connection() as db:
        now = tasks.get(db, task.id)
        facts = steps.facts(db, task=task.id, epoch=lease.epoch)
    step = next_step(facts)
    if isinstance(step, RunItem | RunChecks) and not (onward and _served(station, now, step)):
        return _move(station, now, lease, TaskEvent.release, "not served" if onward else "draining")
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
            return _move(station, task, lease, TaskEvent.submit, _done(task), complete=True)


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
        moved = tasks.move(
            db,
            task,
            event,
            actor=station.actor,
            facts=facts,
            reason=reason,
            question=Question(reason=reason, subjects=subject),
            epoch=lease.epoch,
        )
    reach("moved_on")
    return moved


def _served(station: Station, task: Task, step: RunItem | RunChecks) -> bool:
    kind = step.kind if isinstance(step, RunItem) else AttemptKind.check
    return kind in station.settings.kinds and task.executor in station.settings.executors


def _done(task: Task) -> str:
    changed = "" if task.head != task.base else ", and none of them changed anything"
    return f"every item is done{changed}"


def _asked(item: str | None) -> str:
    return f"item {item} asks for approval before it runs" if item else "the plan asks for approval before it runs"


def _subject(item: str | None) -> tuple[str, ...]:
    return (f"item:{item}" if item else _PLAN,)
