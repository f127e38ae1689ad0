"""Workspaces that nobody holds: a row that says they could be used is put right; no file is touched."""

from datetime import timedelta
from typing import Final

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.allocations import AllocationState
from statemachine.refusals import LostRace
from store import allocations
from store.allocations import Leftover
from workspace.hosts import Host, gone

# As long as a lease: a maker that is alive puts its workspace away itself.
SILENCE: Final = timedelta(seconds=90)


def put_away(scene: Scene, notes: Notes) -> None:
    """Fail reserved and quarantine ready workspaces of this host whose maker is gone; they are never findings."""
    with scene.database.connection() as db:
        found = allocations.leftovers(db, host=scene.host.id, silence=SILENCE)
        for leftover in found:
            if leftover.worker_silent or gone(_maker(leftover)):
                _put_right(scene, notes, leftover)


def _put_right(scene: Scene, notes: Notes, leftover: Leftover) -> None:
    unfinished = leftover.state is AllocationState.reserved
    state = AllocationState.failed if unfinished else AllocationState.quarantined
    if not notes.dry_run:
        try:
            with scene.database.connection() as db:
                allocations.end(db, leftover, state, reason="its worker was lost")
        except LostRace:
            return
    notes.did(leftover.task_id, f"workspace_{state}", leftover.path or "never finished")


def _maker(leftover: Leftover) -> Host:
    return Host(id=leftover.worker_host, boot=leftover.boot_id, pid=leftover.pid, started=leftover.started)
