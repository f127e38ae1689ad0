"""Running tasks without a living worker: taken over, agents ended, trees looked at, attempts settled."""

from dataclasses import dataclass

from recovery import agents, folders, storage, trees
from recovery.agents import Agent
from recovery.leases import held, locked
from recovery.limits import gated
from recovery.reports import Notes
from recovery.scene import Scene
from recovery.trees import Remains, Tree
from statemachine.attempts import StopReason
from statemachine.failpoints import reach
from statemachine.refusals import LostRace
from statemachine.tasks import TaskEvent
from store import attempts, outputs, recoveries, settlements, tasks
from store.allocations import Allocation
from store.attempts import Attempt
from store.recoveries import Interrupted
from store.settlements import Report
from store.tasks import Question, Task

_NOTHING = Remains()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wreck:
    """What a dead worker left of a task: its attempt with agent and tree, or nothing where it was between items."""

    attempt: Attempt | None = None
    agent: Agent | None = None
    tree: Tree | Remains = _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resumed:
    """Where a task went, in words, and what became of its workspaces."""

    task: Task
    was: str
    workspaces: list[Allocation]


def resume_interrupted(scene: Scene, notes: Notes) -> None:
    """Go through running tasks page by page; one that cannot be recovered is named and never stops the rest."""
    after = 0
    while page := _page(scene, after):
        for found in page:
            with notes.apart(found.id):
                _resume(scene, notes, found)
        after = page[-1].id


def _page(scene: Scene, after: int) -> list[Interrupted]:
    with scene.database.connection() as db:
        return recoveries.interrupted(db, host=scene.host.id, after=after, limit=recoveries.PAGE)


def _resume(scene: Scene, notes: Notes, found: Interrupted) -> None:
    dead = scene.proven_dead(found)
    if not (dead or found.expired):
        return
    why = "its worker is gone" if dead else "its lease expired"
    # What keeps a task waiting is seen before its lease is taken, or every pass would take it again for nothing.
    wreck = _look(scene, found)
    living = wreck.agent.survivors() if wreck.agent else ()
    if living and not any(each.proven for each in living):
        raise agents.unproven(living)
    if living and scene.dry_run:
        scene.resumed.add(found.id)
        notes.did(found.id, "take_over", f"{why}; its agent is alive and would be ended before its tree is judged")
        return
    reach("wreck_found")
    with held(scene, found, dead=dead, why=why) as task:
        if task is None:
            return
        resumed = _settle(scene, task, wreck) if wreck.attempt else _between_items(scene, task)
    _tell(scene, notes, resumed, why)


def _look(scene: Scene, found: Interrupted) -> _Wreck:
    if found.attempt_id is None:
        return _Wreck()
    with scene.database.connection() as db:
        attempt = attempts.get_attempt(db, found.attempt_id)
        return _Wreck(attempt=attempt, agent=agents.of(db, scene, attempt), tree=trees.of(db, scene, attempt))


def _settle(scene: Scene, task: Task, wreck: _Wreck) -> _Resumed:
    """Settle the attempt of a dead worker: nothing it saw counts, what its agent left does."""
    attempt = _unmoved(scene, task, wreck)
    if wreck.agent and not scene.dry_run:
        wreck.agent.end()
    reach("survivors_ended")
    remains = trees.examine(scene, wreck.tree, epoch=task.lease_epoch) if isinstance(wreck.tree, Tree) else wreck.tree
    reach("wreck_examined")
    with scene.writing() as db:
        locked(db, task)
        settled = settlements.settle(db, _report(task, attempt, remains), actor=scene.actor)
        for file in remains.files:
            outputs.add(db, attempt=attempt.id, host=scene.host.id, file=file)
        aside = storage.set_aside(db, scene, task.id)
        moved = gated(db, settled.task, actor=scene.actor)
        reach("wreck_settling")
    reach("wreck_settled")
    scene.settled[attempt.id] = task.id
    if not scene.dry_run:
        folders.clear(scene, attempt)
    reach("wreck_cleared")
    found = "".join(f", {finding.kind}" for finding in remains.findings)
    was = f"attempt {attempt.number} was {attempt.state} and is {settled.attempt_state}{found}"
    return _Resumed(task=moved, was=was, workspaces=aside)


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


def _report(task: Task, attempt: Attempt, remains: Remains) -> Report:
    return Report(
        task=task.id,
        epoch=task.lease_epoch,
        attempt=attempt.id,
        manifest_digest=remains.manifest_digest,
        findings=remains.findings,
        evidence=remains.evidence,
        failure=remains.failure,
        recovering=True,
        recovered=True,
    )


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
        reach("requeueing")
    reach("requeued")
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
    scene.resumed.add(resumed.task.id)
    notes.did(resumed.task.id, resumed.task.state, f"{why}; {resumed.was}")
    for row in resumed.workspaces:
        storage.told(notes, row)
