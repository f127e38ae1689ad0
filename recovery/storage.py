"""Workspaces that nobody holds: a row that says they could be used is put right; no file is touched."""

import os
from contextlib import suppress
from datetime import timedelta
from typing import Final

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
    with scene.database.connection() as db:
        found = allocations.leftovers(db, host=scene.host.id, silence=SILENCE)
    for leftover in found:
        with notes.apart(leftover.task_id):
            _put_right(scene, notes, leftover)


def _put_right(scene: Scene, notes: Notes, leftover: Leftover) -> None:
    dealt_with = leftover.task_id in scene.resumed
    if dealt_with or not (leftover.worker_silent or gone(_maker(leftover))):
        return
    try:
        with scene.writing() as db:
            ended = end(db, scene, leftover)
    except LostRace:
        # Its maker was not gone after all, or another pass was faster: the row says what it is now.
        return
    reach("space_put_right")
    told(notes, ended)


def set_aside(db: Connection, scene: Scene, task: int) -> list[Allocation]:
    """Take the workspaces of a task out of use whose lease is ours; its next attempt gets a fresh one."""
    ended = []
    for row in allocations.live(db, task):
        with suppress(LostRace):  # a zombie put it away itself
            ended.append(end(db, scene, row))
    return ended


def end(db: Connection, scene: Scene, row: Allocation) -> Allocation:
    """Fail what was only reserved, quarantine what was ready; where it lies is kept for whoever cleans up."""
    reserved = row.state is AllocationState.reserved
    state = AllocationState.failed if reserved else AllocationState.quarantined
    place = scene.root.workspaces / folder_name(row.task_id, row.epoch, row.id)
    path = str(place) if row.host == scene.host.id and os.path.lexists(place) else None
    return allocations.end(db, row, state, reason="its worker was lost", path=path)


def told(notes: Notes, row: Allocation) -> None:
    """Note what became of a workspace."""
    notes.did(row.task_id, f"workspace_{row.state}", row.path or "never made")


def _maker(leftover: Leftover) -> Host:
    return Host(id=leftover.worker_host, boot=leftover.boot_id, pid=leftover.pid, started=leftover.started)
