"""Settling: write an attempt's end, again and again until it is written, or the lease is surely gone."""

from collections.abc import Callable

from statemachine.attempts import ENDED
from statemachine.failpoints import reach
from statemachine.refusals import LostRace, Refusal, Unavailable
from statemachine.tasks import TaskEvent
from store import attempts, settlements, tasks
from store.engine import Connection
from store.settlements import Report, Rows, Settled
from worker.patience import surely
from worker.runs import Run


def settle_surely(
    run: Run, report: Report, *, believed: Rows | None = None, beside: Callable[[Connection], None] | None = None
) -> Settled:
    """Settle in one transaction with what is written beside it; while the database is away, wait and try again.

    With what the rows are `believed` to be it is one statement; where somebody changed them since, they are read.
    An answer that was lost is read back: settled by this attempt under this epoch is success.
    Raises `LeaseLost` once the lease may be somebody else's; then recovery settles.
    """
    return surely(run.lease, lambda: _settle(run, report, believed, beside))


def _settle(run: Run, report: Report, believed: Rows | None, beside: Callable[[Connection], None] | None) -> Settled:
    reach("settling")
    try:
        settled = (believed and _at_once(run, report, believed)) or _as_read(run, report, beside)
    except (Unavailable, LostRace):
        raise
    except Refusal as refused:
        with run.station.database.connection() as db:
            return _read_back(db, run, refused)
    reach("settled")
    return settled


def _at_once(run: Run, report: Report, believed: Rows) -> Settled | None:
    """Settle by one statement, or not at all where the rows are others by now."""
    try:
        with run.station.database.connection() as db:
            return settlements.settle(db, report, actor=run.station.actor, believed=believed)
    except LostRace:
        return None


def _as_read(run: Run, report: Report, beside: Callable[[Connection], None] | None) -> Settled:
    with run.station.database.transaction() as db:
        settled = settlements.settle(db, report, actor=run.station.actor)
        if beside:
            beside(db)
        return settled


def _read_back(db: Connection, run: Run, refused: Refusal) -> Settled:
    """Find out whether a refusal only says that this attempt is settled already, by this worker."""
    ended = attempts.get_attempt(db, run.attempt.id)
    if ended.state not in ENDED or ended.epoch != run.attempt.epoch:
        raise refused
    lines = [line for line in tasks.history(db, run.task.id) if line.attempt_id == run.attempt.id and line.dest]
    return Settled(
        attempt_state=ended.state,
        word=ended.failure_code or ended.first_reason or "",
        event=TaskEvent(lines[-1].event),
        task=tasks.get(db, run.task.id),
    )
