"""Work spaces: reserved as a row, materialised on disk, ready as a row; and put away in the same order."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from statemachine.allocations import AllocationState
from statemachine.refusals import LostRace, Refusal
from store import allocations
from store.allocations import Allocation
from worker.runs import Run
from workspace import trash
from workspace.allocations import folder_name
from workspace.inspections import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A ready work tree with its row."""

    allocation: Allocation
    tree: Tree

    @property
    def folder(self) -> Path:
        """Return the folder of the tree."""
        return self.tree.folder


def prepare(run: Run) -> Space:
    """Reserve, materialise and declare ready a fresh workspace at the attempt's base."""
    with run.station.database.connection() as db:
        reserved = allocations.reserve(db, run.attempt, allocation=uuid4(), host=run.station.host.id)
    try:
        tree = run.executor.materialise(
            run.station.root,
            run.runner,
            run.attempt.base,
            task=run.task.id,
            epoch=run.attempt.epoch,
            allocation=reserved.id,
            branch=run.task.target,
        )
    except Refusal as refused:
        _give_up(run, reserved, refused)
        raise
    with run.station.database.connection() as db:
        ready = allocations.ready(
            db,
            reserved,
            epoch=run.attempt.epoch,
            path=str(tree.folder),
            base=run.attempt.base,
            baseline=tree.baseline,
        )
    return Space(allocation=ready, tree=tree)


def put_away(run: Run, space: Space, *, keep: str = "") -> None:
    """Release a workspace whose content is settled; with `keep`, quarantine it for that reason instead."""
    left = keep or _release(run, space)
    state = AllocationState.quarantined if left else AllocationState.released
    try:
        with run.station.database.connection() as db:
            allocations.end(db, space.allocation, state, reason=left or "settled")
    except LostRace:
        # Recovery was faster: it quarantined what it found.
        return


def temporary(run: Run) -> Path:
    """Make the folder an attempt's processes may use for what nobody keeps."""
    folder = run.folder / "tmp"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def clear(run: Run) -> None:
    """Remove what an attempt needed only while it ran; what cannot be removed stays in its folder."""
    for name in ("tmp", "spool"):
        place = run.folder / name
        if place.is_dir() and not trash.empty(place):
            place.rmdir()


def _release(run: Run, space: Space) -> str:
    try:
        return run.executor.release(run.station.root, space.folder, allocation=space.allocation.id)
    except Refusal as refused:
        return refused.message


def _give_up(run: Run, reserved: Allocation, refused: Refusal) -> None:
    path = run.station.root.workspaces / folder_name(run.task.id, run.attempt.epoch, reserved.id)
    with run.station.database.connection() as db:
        allocations.end(db, reserved, AllocationState.failed, reason=refused.message, path=str(path))
