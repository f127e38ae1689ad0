"""Running tasks without a living worker: taken over, agents ended, trees looked at, attempts settled."""

from recovery.reports import Notes
from recovery.scene import LEASE, Scene
from recovery.trees import Remains, examine
from statemachine.attempts import WRITING, AttemptState, StopReason
from statemachine.refusals import LostRace, Refusal
from statemachine.tasks import TaskEvent
from store import attempts, claims, outputs, recoveries, settlements, tasks
from store.recoveries import Interrupted
from store.settlements import Report
from store.tasks import Question, Task
from workspace.hosts import Host
from workspace.survivors import Handle, end_survivors


def resume_interrupted(scene: Scene, notes: Notes) -> None:
    """Go through running tasks page by page; one that cannot be recovered is named and never stops the rest."""
    after = 0
    while page := _page(scene, after):
        for found in page:
            try:
                _resume(scene, notes, found)
            except LostRace:
                notes.did(found.id, "left_alone", "somebody else recovers it")
            except Refusal as refused:
                notes.left(found.id, refused.code, refused.message)
        after = page[-1].id


def _page(scene: Scene, after: int) -> list[Interrupted]:
    with scene.database.connection() as db:
        return recoveries.interrupted(db, host=scene.host.id, after=after)


def _resume(scene: Scene, notes: Notes, found: Interrupted) -> None:
    process = Host(id=found.host, boot=found.boot_id, pid=found.pid, started=found.started)
    dead = scene.proven_dead(worker=found.lease_worker, process=process)
    if not (dead or found.expired):
        return
    why = "its worker is gone" if dead else "its lease expired"
    if notes.dry_run:
        notes.did(found.id, "take_over", why)
        return
    task = _take_over(scene, found, dead=dead, why=why)
    if task is None:
        return
    if not _end_processes(found):
        notes.left(
            found.id, "survivor_unproven", "a process that may be its agent is still there; looked at again later"
        )
        return
    moved = _settle(scene, task, found) if found.attempt_id else _between_items(scene, task)
    notes.did(found.id, moved.state, f"{why}; it was {_where(found)}")


def _take_over(scene: Scene, found: Interrupted, *, dead: bool, why: str) -> Task | None:
    with scene.database.connection() as db:
        return claims.take_over(
            db,
            task=found.id,
            epoch=found.lease_epoch,
            worker=scene.worker(),
            actor=scene.actor,
            lease=LEASE,
            proven_dead=dead,
            reason=why,
        )


def _end_processes(found: Interrupted) -> bool:
    """End what is left of the agent, where it ran on this host and is proven to be it."""
    return not found.handle or end_survivors(Handle(**found.handle))


def _settle(scene: Scene, task: Task, found: Interrupted) -> Task:
    """Settle the attempt of a dead worker: nothing it saw counts, what its agent left does."""
    assert found.attempt_id  # noqa: S101 - only called with one
    with scene.database.connection() as db:
        attempt = attempts.get_attempt(db, found.attempt_id)
    examined = attempt.kind in WRITING and attempt.state is AttemptState.running and attempt.allocation_id
    remains = examine(scene, attempt) if examined else Remains()
    report = Report(
        task=task.id,
        epoch=task.lease_epoch,
        attempt=found.attempt_id,
        manifest_digest=remains.manifest_digest,
        findings=remains.findings,
        evidence=remains.evidence,
        failure=remains.failure,
        recovering=True,
        recovered=True,
    )
    with scene.database.transaction() as db:
        settled = settlements.settle(db, report, actor=scene.actor)
        for file in remains.files:
            outputs.add(db, attempt=found.attempt_id, host=scene.host.id, file=file)
    return settled.task


def _between_items(scene: Scene, task: Task) -> Task:
    """Move a task that nobody works on and whose last attempt is settled."""
    event = TaskEvent.cancel if task.cancel_requested else _event(task.stop_reason)
    question = Question(reason="stopped by a person between items")
    with scene.database.connection() as db:
        return tasks.move(db, task, event, actor=scene.actor, question=question, epoch=task.lease_epoch)


def _event(stop: StopReason | None) -> TaskEvent:
    match stop:
        case StopReason.user:
            return TaskEvent.halt
        case StopReason.time_limit:
            return TaskEvent.hit_limit
        case _:
            return TaskEvent.requeue


def _where(found: Interrupted) -> str:
    return f"in an attempt that was {found.attempt_state}" if found.attempt_id else "between items"
