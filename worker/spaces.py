"""Work spaces: reserved as a row, materialised on disk, ready as a row; and put away in the same order."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from workspace.allocations import folder_name

from statemachine.allocations import AllocationState
from statemachine.refusals import LostRace, Refusal
from store import allocations
from store.allocations import Allocation
from worker.runs import Run
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
    folder = run.station.root.workspaces / folder_name(run.task.id, run.attempt.epoch, reserved.id)
    try:
        tree = run.executor.materialise(
            run.station.root, run.runner, run.attempt.base, folder, allocation=reserved.id, branch=run.task.target
        )
    except BaseException as error:
        _give_up(run, reserved, folder, error)
        raise
    with run.station.database.connection() as db:
        ready = allocations.ready(
            db,
            reserved,
            epoch=run.attempt.epoch,
            path=str(folder),
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


def _release(run: Run, space: Space) -> str:
    try:
        run.executor.release(run.station.root, space.folder, allocation=space.allocation.id)
    except Refusal as refused:
        return refused.message
    return ""


def _give_up(run: Run, reserved: Allocation, folder: Path, error: BaseException) -> None:
    reason = error.message if isinstance(error, Refusal) else type(error).__name__
    with run.station.database.connection() as db:
        allocations.end(db, reserved, AllocationState.failed, reason=reason, path=str(folder))
