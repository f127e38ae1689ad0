"""Merges whose owner is gone: only the target says how they ended."""

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.merges import MergeState
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent
from store import merges, recoveries, tasks
from store.recoveries import Overdue
from workspace import merges as targets


def reconcile(scene: Scene, notes: Notes) -> None:
    """End merges whose push can no longer run, by what their target holds."""
    with scene.database.connection() as db:
        overdue = recoveries.overdue_merges(db)
    for merge in overdue:
        try:
            held = targets.holds(targets.target_state(merge.target, merge.branch), merge.commit)
        except Refusal as unreadable:
            notes.left(merge.task_id, "target_unreadable", unreadable.message)
            continue
        if not notes.dry_run:
            _end(scene, merge, held=held)
        notes.did(merge.task_id, "confirm_merge" if held else "fail_merge", f"{merge.branch} of {merge.target}")


def _end(scene: Scene, merge: Overdue, *, held: bool) -> None:
    event = TaskEvent.confirm_merge if held else TaskEvent.fail_merge
    state = MergeState.merged if held else MergeState.failed
    reason = "" if held else "its process was lost before the push was applied"
    with scene.database.transaction() as db:
        task = tasks.lock(db, merge.task_id)
        tasks.move(db, task, event, actor=scene.actor, reason=reason)
        merges.end(db, merge.id, state, reason=reason)
