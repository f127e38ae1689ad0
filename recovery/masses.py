"""Lost tasks of which nothing is to be looked at: queued again by the thousand, one statement for each page."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from recovery import storage
from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.allocations import AllocationState
from statemachine.failpoints import reach
from statemachine.refusals import Refusal, Unavailable
from statemachine.tasks import TaskState
from store import allocations, recoveries
from store.engine import Connection
from store.recoveries import Requeued


def requeue_lost(scene: Scene, notes: Notes) -> None:
    """Queue lost tasks again that were between items, never started an agent, or left their tree on another host.

    A page that is refused is left, row by row, to the repair that names what is wrong.
    """
    for page in scene.until_stopped(_pages(scene)):
        for _, rows in groupby(page, attrgetter("id")):
            _tell(scene, notes, list(rows))


def _pages(scene: Scene) -> Iterator[list[Requeued]]:
    after = 0
    while True:
        try:
            page = _requeue(scene, after)
        except Unavailable:
            raise
        except Refusal:
            page = []
            skipped = _skipped(scene, after)
        else:
            skipped = page[-1].id if page else 0
        if not skipped:
            return
        after = skipped
        yield page


def _requeue(scene: Scene, after: int) -> list[Requeued]:
    page: list[Requeued] = []
    with scene.writing() as db:
        page = recoveries.requeue(
            db, host=scene.host.id, dead=scene.dead, actor=scene.actor, after=after, limit=recoveries.MASS
        )
        _note_places(db, scene, page)
        if page:
            reach("requeueing")
    if page:
        reach("requeued")
    return page


def _skipped(scene: Scene, after: int) -> int:
    """Find where the page ends that was refused."""
    with scene.database.connection() as db:
        left = recoveries.interrupted(db, dead=scene.dead, after=after, limit=recoveries.MASS)
    return left[-1].id if left else 0


def _note_places(db: Connection, scene: Scene, page: list[Requeued]) -> None:
    """Say of workspaces that were only reserved where they lie: it is kept for whoever cleans up."""
    for row in page:
        if row.allocation_id and row.allocation_state is AllocationState.failed and (path := _place(scene, row)):
            allocations.note_place(db, row.allocation_id, path)


def _place(scene: Scene, row: Requeued) -> str | None:
    if row.allocation_id is None or row.epoch is None or row.host != scene.host.id:
        return None
    return storage.place(scene, task=row.id, epoch=row.epoch, allocation=row.allocation_id)


def _tell(scene: Scene, notes: Notes, rows: list[Requeued]) -> None:
    first = rows[0]
    was = "it was between items"
    if first.attempt_id:
        was = f"attempt {first.number} was {first.attempt_state} and is interrupted"
    scene.remember(first.id, first.attempt_id)
    notes.did(first.id, TaskState.queued, f"task {first.id} is queued again: {first.why}; {was}")
    for row in rows:
        if row.allocation_id and row.allocation_state:
            storage.tell(notes, first.id, row.allocation_id, row.allocation_state, _lies(scene, row))


def _lies(scene: Scene, row: Requeued) -> str:
    return _place(scene, row) or ("" if row.host == scene.host.id else f"host {row.host}")
