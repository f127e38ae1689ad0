"""Work spaces: reserved as a row, made on disk, ready as a row; and put away in the same order."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID, uuid4

from statemachine.allocations import AllocationState
from statemachine.failpoints import reach
from statemachine.refusals import LostRace, Refusal
from store import allocations
from store.allocations import Allocation
from worker.runs import Run, told
from workspace.executors import Place, scraps


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A ready work tree with its row."""

    allocation: Allocation
    place: Place


def prepare(run: Run) -> Space:
    """Reserve, make and declare ready a fresh workspace at the attempt's base."""
    run.folder.mkdir(mode=0o700)
    with run.station.database.connection() as db:
        reserved = allocations.reserve(db, run.attempt, allocation=uuid4(), host=run.station.host.id)
    reach("reserved")
    place = _place(run, reserved.id)
    try:
        made = run.executor.materialise(place)
        reach("materialised")
    except (Refusal, OSError) as error:
        _give_up(run, reserved, place, told(error))
        raise
    with run.station.database.connection() as db:
        ready = allocations.ready(
            db, reserved, epoch=run.attempt.epoch, path=made.path, base=place.base, baseline=made.baseline
        )
    reach("space_ready")
    return Space(allocation=ready, place=replace(place, path=made.path, baseline=made.baseline))


def put_away(run: Run, space: Space, *, keep: str = "") -> None:
    """Release a workspace whose content is settled; with `keep`, quarantine it for that reason instead."""
    with run.station.database.connection() as db:
        if not any(row.id == space.allocation.id for row in allocations.live(db, run.task.id)):
            # This process was thought dead, and recovery put the workspace aside: it is not ours to remove.
            return
    left = keep or _release(run, space)
    reach("space_removed")
    state = AllocationState.quarantined if left else AllocationState.released
    with suppress(LostRace), run.station.database.connection() as db:
        allocations.end(db, space.allocation, state, reason=left or "settled")
    reach("space_released")


def temporary(run: Run) -> Path:
    """Make the folder an attempt's processes may use for what nobody keeps."""
    folder = run.folder / "tmp"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def clear(run: Run) -> None:
    """Remove what an attempt needed only while it ran; what cannot be removed stays in its folder."""
    scraps.clear(run.folder)


def _place(run: Run, allocation: UUID) -> Place:
    return Place(
        root=run.station.root,
        repo=run.runner,
        task=run.task.id,
        epoch=run.attempt.epoch,
        allocation=allocation,
        base=run.attempt.base,
    )


def _release(run: Run, space: Space) -> str:
    try:
        released = run.executor.release(space.place)
    except (Refusal, OSError) as error:
        return told(error).message
    return "" if released.gone else released.reason or "a part of it could not be removed"


def _give_up(run: Run, reserved: Allocation, place: Place, refused: Refusal) -> None:
    with run.station.database.connection() as db:
        allocations.end(db, reserved, AllocationState.failed, reason=refused.message, path=str(place.folder))
