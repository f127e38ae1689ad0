"""Running tasks without a living worker: taken over, agents ended, trees looked at, attempts settled."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from recovery import agents, folders, storage, trees
from recovery.agents import Agent
from recovery.judging import Tree
from recovery.leases import held, locked
from recovery.limits import gated
from recovery.reports import Notes
from recovery.scene import Scene
from recovery.trees import Trust
from statemachine.attempts import StopReason
from statemachine.failpoints import reach
from statemachine.refusals import LostRace
from statemachine.tasks import TaskEvent, TaskState
from store import allocations, attempts, recoveries, settlements, steps, tasks
from store.allocations import Allocation
from store.attempts import Attempt
from store.recoveries import Interrupted
from store.settlements import Report
from store.tasks import Question, Task

_WENT: Final = {
    TaskState.queued: "is queued again",
    TaskState.needs_human: "waits for a person",
    TaskState.needs_amendment: "waits for a decision about files outside its scope",
    TaskState.cancelled: "is closed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wreck:
    """What a dead worker left of a task: its attempt with agent and tree, or nothing where it was between items.

    Without a tree, `tree` says why. `alive` tells whether anything of the agent was when it was looked at.
    """

    attempt: Attempt | None = None
    agent: Agent | None = None
    tree: Tree | str = ""
    alive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resumed:
    """Where a task went, in words, and what became of its workspaces."""

    task: Task
    was: str
    workspaces: list[Allocation]


def resume_interrupted(scene: Scene, notes: Notes) -> None:
    """Go through running tasks page by page; one that cannot be recovered is named and never stops the rest."""
    for found in scene.until_stopped(_interrupted(scene)):
        with notes.apart(found.id):
            _resume(scene, notes, found)


def _interrupted(scene: Scene) -> Iterator[Interrupted]:
    after = 0
    while page := _page(scene, after):
        yield from page
        after = page[-1].id


def _page(scene: Scene, after: int) -> list[Interrupted]:
    with scene.database.connection() as db:
        return recoveries.interrupted(db, dead=scene.dead, after=after, limit=recoveries.PAGE)


def _resume(scene: Scene, notes: Notes, found: Interrupted) -> None:
    if found.id in scene.resumed:
        return
    why = "its worker is gone" if found.dead else "its lease expired"
    # What keeps a task waiting is seen before its lease is taken, or every pass would take it again for nothing.
    wreck = _look(scene, found)
    if wreck.alive and scene.dry_run:
        scene.remember(found.id, None)
        ends = "its agent is alive and would be ended before its tree is judged"
        notes.did(found.id, TaskEvent.take_over, f"task {found.id} would be taken over: {why}; {ends}")
        return
    reach("wreck_found")
    with held(scene, found, why=why) as task:
        if task is None:
            return
        resumed = _settle(scene, task, wreck) if wreck.attempt else _between_items(scene, task)
    _tell(scene, notes, resumed, why)


def _look(scene: Scene, found: Interrupted) -> _Wreck:
    """Look at what is there of a task; raises where something of it has to be waited for."""
    if found.attempt_id is None:
        return _Wreck()
    with scene.database.connection() as db:
        attempt = attempts.get_attempt(db, found.attempt_id)
        space = next((row for row in allocations.live(db, attempt.task_id) if row.id == attempt.allocation_id), None)
        agent, tree = agents.of(db, scene, attempt), trees.of(db, scene, attempt, space)
    alive = agents.waited_for(agent)
    if isinstance(tree, Tree):
        scene.patience.spend()
    return _Wreck(attempt=attempt, agent=agent, tree=tree, alive=alive)


def _settle(scene: Scene, task: Task, wreck: _Wreck) -> _Resumed:
    """Settle the attempt of a dead worker: as it would have, where it had seen the end; else what its agent left."""
    attempt = _unmoved(scene, task, wreck)
    if wreck.agent and not scene.dry_run:
        wreck.agent.end()
    reach("survivors_ended")
    report = _conclude(scene, task, attempt, wreck)
    reach("wreck_examined")
    with scene.writing() as db:
        locked(db, task)
        settled = settlements.settle(db, report, actor=scene.actor)
        elsewhere = attempt.allocation_id if wreck.tree == trees.ELSEWHERE else None
        aside = storage.set_aside(db, scene, task.id, unjudged=elsewhere)
        moved = gated(db, settled.task, actor=scene.actor)
        reach("wreck_settling")
    reach("wreck_settled")
    scene.remember(task.id, attempt.id, committed=moved.head != task.head)
    if not scene.dry_run:
        folders.clear(scene, attempt)
    reach("wreck_cleared")
    found = "".join(f", {finding.kind}" for finding in report.findings)
    was = f"attempt {attempt.number} was {attempt.state} and is {settled.attempt_state}{found}"
    return _Resumed(task=moved, was=was, workspaces=aside)


def _conclude(scene: Scene, task: Task, attempt: Attempt, wreck: _Wreck) -> Report:
    blank = Report(
        task=task.id,
        epoch=task.lease_epoch,
        attempt=attempt.id,
        host=scene.host.id,
        recovering=True,
        recovered=True,
    )
    if isinstance(wreck.tree, str):
        return replace(blank, failure=wreck.tree)
    # Whoever was told to stop, or whose agent was still there, did not see the end of its work.
    stopped = task.stop_reason is not None or task.cancel_requested or task.context != attempt.context
    trust = Trust(ending=not wreck.alive, commit=not stopped)
    report = trees.examine(scene, wreck.tree, blank, trust=trust)
    if report.outcome is None:
        return report
    with scene.database.connection() as db:
        return replace(report, next_kind=steps.kind_after(db, task=task.id, done=attempt.item_id or ""))


def _unmoved(scene: Scene, task: Task, wreck: _Wreck) -> Attempt:
    """Read the attempt again, from where nobody else can write to it: it must still be what was looked at."""
    with scene.database.connection() as db:
        now = attempts.active(db, task.id)
    if now is None or _launched(now) != _launched(wreck.attempt):
        raise _woken()
    return now


def _launched(attempt: Attempt | None) -> tuple[object, ...]:
    return () if attempt is None else (attempt.id, attempt.state, attempt.allocation_id, attempt.handle)


def _woken() -> LostRace:
    return LostRace("conflict", "its worker woke up while it was looked at; the next pass looks again")


def _between_items(scene: Scene, task: Task) -> _Resumed:
    """Move a task that nobody works on and whose last attempt is settled, as its row under the lock says."""
    with scene.writing() as db:
        now = locked(db, task)
        if attempts.active(db, task.id):
            raise _woken()
        event, reason = _step(now)
        question = Question(reason=reason)
        moved = tasks.move(db, now, event, actor=scene.actor, question=question, epoch=task.lease_epoch)
        aside = storage.set_aside(db, scene, task.id)
        moved = gated(db, moved, actor=scene.actor)
        reach("resting")
    reach("rested")
    return _Resumed(task=moved, was="it was between items", workspaces=aside)


def _step(task: Task) -> tuple[TaskEvent, str]:
    if task.cancel_requested:
        return TaskEvent.cancel, "cancelled by a person"
    match task.stop_reason:
        case StopReason.user:
            return TaskEvent.halt, "stopped by a person between items"
        case StopReason.time_limit:
            return TaskEvent.hit_limit, "the budget is spent"
        case StopReason.shutdown | StopReason.stale | None:
            return TaskEvent.requeue, "its worker was lost between items"


def _tell(scene: Scene, notes: Notes, resumed: _Resumed, why: str) -> None:
    task = resumed.task
    scene.remember(task.id, None)
    notes.did(task.id, task.state, f"task {task.id} {_WENT.get(task.state, task.state)}: {why}; {resumed.was}")
    for row in resumed.workspaces:
        storage.told(notes, row)
