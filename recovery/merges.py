"""Merges whose owner is gone: only the target says how they ended."""

from collections.abc import Iterator

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.failpoints import reach
from statemachine.merges import MergeState
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent
from store import merges, recoveries, tasks
from store.merges import Merge
from workspace.repository import merges as targets

_LOST = "its process was lost before the push was applied"


def reconcile(scene: Scene, notes: Notes) -> None:
    """End merges whose push can no longer run, by what their target holds."""
    for merge in scene.until_stopped(_overdue(scene)):
        with notes.apart(merge.task_id):
            _reconcile(scene, notes, merge)


def _overdue(scene: Scene) -> Iterator[Merge]:
    after = 0
    while page := _page(scene, after):
        yield from page
        after = page[-1].task_id


def _page(scene: Scene, after: int) -> list[Merge]:
    with scene.database.connection() as db:
        return recoveries.overdue_merges(db, after=after, limit=recoveries.PAGE)


def _reconcile(scene: Scene, notes: Notes, merge: Merge) -> None:
    where = f"{merge.branch} of {merge.target}"
    try:
        held = targets.holds(targets.target_state(merge.target, merge.branch), merge.commit)
    except Refusal as unreadable:
        waits = f"task {merge.task_id}: nobody can tell whether its merge reached {where}: {unreadable.message}"
        notes.left(merge.task_id, "target_unreadable", waits, hint=unreadable.hint)
        return
    reach("target_read")
    if _end(scene, merge, held=held):
        reach("merge_ended")
        event = TaskEvent.confirm_merge if held else TaskEvent.fail_merge
        arrived = f"did reach {where}" if held else f"did not reach {where}; it can be merged again"
        notes.did(merge.task_id, event, f"the merge of task {merge.task_id}, whose process was lost, {arrived}")


def _end(scene: Scene, merge: Merge, *, held: bool) -> bool:
    """End it under the task's lock, unless somebody else did; a finding it owes sends its task to a person."""
    event = TaskEvent.confirm_merge if held else TaskEvent.fail_merge
    state = MergeState.merged if held else MergeState.failed
    reason = "" if held else _LOST
    with scene.writing() as db:
        task = tasks.lock(db, merge.task_id)
        live = merges.live(db, merge.task_id)
        if live is None or live.id != merge.id:
            return False
        tasks.move(db, task, event, actor=scene.actor, reason=reason)
        merges.end(db, merge.id, state, reason=reason)
    return True
