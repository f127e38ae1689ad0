"""Inspecting: what really happened in a tree whose agent has ended, kept on disk before anything is made of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from statemachine.attempts import StopReason
from statemachine.failpoints import reach
from statemachine.findings import FindingKind
from statemachine.refusals import LeaseLost, Refusal
from store import findings
from store.findings import NewFinding
from worker.conclusions import succeeded
from worker.judging import Judged, Tree, judge
from worker.launches import Ended, exit_code
from worker.patience import surely
from worker.runs import Run, told
from worker.spaces import Space
from workspace.agents import endings
from workspace.agents.endings import Ending, Kept, Log
from workspace.inspection.inspections import Inspection, InspectionAborted
from workspace.inspection.links import LinkState


def look(run: Run, space: Space, ended: Ended, *, links: LinkState, started_at: datetime) -> Judged:
    """Inspect and judge what an agent left; raises `LeaseLost` where that is somebody else's to do by now."""
    with _while_held(run):
        inspected = _inspect(run, space, ended, links)
        if isinstance(inspected, NewFinding):
            return Judged(findings=(inspected,), export_failure="the tree could not be inspected")
        tree = Tree(
            attempt=run.attempt,
            item=run.item,
            repository=run.repository,
            executor=run.executor,
            place=space.place,
            folder=run.folder,
            date=started_at,
            identity=run.station.identity,
            permits=surely(run.lease, lambda: _permits(run)),
        )
        return judge(tree, inspected, may_commit=lambda: _may_commit(run, ended))


def ending_of(ended: Ended) -> Ending:
    """Say of an agent's end what its attempt's row will need."""
    said = ended.exit.output
    return Ending(
        exit_code=exit_code(ended),
        isolation=ended.isolation,
        stopped=ended.stopped,
        launch_error=ended.exit.launch_error or "",
        leftovers=ended.exit.leftovers,
        log=Log(size=said.size, sha256=said.sha256, truncated=said.truncated, tail=said.tail),
    )


@contextmanager
def _while_held(run: Run) -> Iterator[None]:
    try:
        yield
    except InspectionAborted:
        raise LeaseLost(task=run.task.id, epoch=run.attempt.epoch) from None


def _inspect(run: Run, space: Space, ended: Ended, links: LinkState) -> Inspection | NewFinding:
    if ended.exit.remaining:
        alive = Refusal("still_alive", "a process that can write to the tree could not be ended")
        return NewFinding.refused(FindingKind.inspection_failed, alive, item=run.attempt.item_id)
    try:
        inspected = run.executor.inspect(
            space.place,
            spool=run.folder / "spool",
            links=links,
            leftovers=ended.exit.leftovers,
            aborted=lambda: run.lease.lost,
        )
        reach("inspected")
        kept = Kept(attempt=run.attempt.id, epoch=run.attempt.epoch, manifest=inspected.digest, ending=ending_of(ended))
        endings.keep(run.folder, kept)
        reach("result_kept")
    except (Refusal, OSError) as error:
        return NewFinding.refused(FindingKind.inspection_failed, told(error), item=run.attempt.item_id)
    return inspected


def _permits(run: Run) -> frozenset[str]:
    with run.station.database.connection() as db:
        return findings.permits(db, task=run.task.id, item=run.item.id, revision=run.attempt.revision)


def _may_commit(run: Run, ended: Ended) -> bool:
    """Look once more before anything is committed: was it stopped, is its context current, is the lease held?"""
    run.lease.check()
    return succeeded(ending_of(ended)) and run.stop_wanted() in {None, StopReason.shutdown}
