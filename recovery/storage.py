"""Workspaces that nobody holds: a row that says they could be used is put right; no file is touched."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Final
from uuid import UUID

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.allocations import AllocationState
from statemachine.failpoints import reach
from statemachine.refusals import LostRace
from store import allocations
from store.allocations import Allocation, Leftover
from store.engine import Connection
from workspace.agents.hosts import Host, gone
from workspace.places.allocations import folder_name

# As long as a lease: a maker that is alive puts its workspace away itself.
SILENCE: Final = timedelta(seconds=90)


def put_away(scene: Scene, notes: Notes) -> None:
    """Fail reserved and quarantine ready workspaces of this host whose maker is gone; they are never findings."""
    for leftover in scene.until_stopped(_leftovers(scene)):
        with notes.apart(leftover.task_id):
            _put_right(scene, notes, leftover)


def _leftovers(scene: Scene) -> Iterator[Leftover]:
    after = None
    while page := _page(scene, after):
        yield from page
        after = page[-1].id


def _page(scene: Scene, after: UUID | None) -> list[Leftover]:
    with scene.database.connection() as db:
        return allocations.leftovers(db, host=scene.host.id, silence=SILENCE, after=after, limit=allocations.PAGE)


def _put_right(scene: Scene, notes: Notes, leftover: Leftover) -> None:
    dealt_with = leftover.task_id in scene.resumed
    if dealt_with or not (leftover.worker_silent or gone(_maker(leftover))):
        return
    try:
        with scene.writing() as db:
            ended = _end(db, scene, leftover)
    except LostRace:
        # Its maker was not gone after all, or another pass was faster: the row says what it is now.
        return
    reach("space_put_right")
    told(notes, ended)


def set_aside(db: Connection, scene: Scene, task: int, *, unjudged: UUID | None = None) -> list[Allocation]:
    """Take the workspaces of a task out of use whose lease is ours; its next attempt gets a fresh one.

    `unjudged` names the one whose tree only another host can judge.
    """
    ended = []
    for row in allocations.live(db, task):
        with suppress(LostRace):  # a zombie put it away itself
            ended.append(_end(db, scene, row, unjudged=row.id == unjudged))
    return ended


def place(scene: Scene, *, task: int, epoch: int, allocation: UUID) -> str | None:
    """Name the folder of a workspace of this host, if there is anything in its place."""
    folder = scene.root.workspaces / folder_name(task, epoch, allocation)
    return str(folder) if os.path.lexists(folder) else None


def told(notes: Notes, row: Allocation) -> None:
    """Note what became of a workspace."""
    tell(notes, row.task_id, row.id, row.state, row.path or "")


def tell(notes: Notes, task: int, allocation: UUID, state: AllocationState, where: str) -> None:
    """Note that a workspace is out of use, and where what is in it stays; nowhere, if it was never made."""
    stays = f"what is in it stays at {where}" if where else "it was never made"
    name = f"w-{allocation.hex[:12]}"
    notes.did(task, f"workspace_{state}", f"workspace {name} of task {task} is out of use ({state}); {stays}")


def _end(db: Connection, scene: Scene, row: Allocation, *, unjudged: bool = False) -> Allocation:
    """Fail what was only reserved, quarantine what was ready; where it lies is kept for whoever cleans up."""
    reserved = row.state is AllocationState.reserved
    state = AllocationState.failed if reserved else AllocationState.quarantined
    here = row.host == scene.host.id
    path = place(scene, task=row.task_id, epoch=row.epoch, allocation=row.id) if here else None
    return allocations.end(db, row, state, reason="its worker was lost", path=path, unjudged=unjudged)


def _maker(leftover: Leftover) -> Host:
    return Host(id=leftover.worker_host, boot=leftover.boot_id, pid=leftover.pid, started=leftover.started)
