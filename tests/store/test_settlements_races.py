"""An end is one transaction, and only one of two that want to write it does."""

import pytest

from statemachine.attempts import AttemptState
from statemachine.refusals import LeaseLost, Refusal
from statemachine.settlement import Outcome
from statemachine.tasks import TaskEvent, TaskState
from store import claims, interventions, settlements
from store.attempts import Attempt
from store.engine import Connection, Database
from store.settlements import Report, Settled
from store.tasks import Task
from tests.factories import a_plan, a_running_task, a_worker, an_attempt, an_item
from tests.store.scenes import (
    EXTRA,
    HOUR,
    asked,
    events,
    in_turn,
    revise,
)

A, E, S = AttemptState, TaskEvent, TaskState
OTHER = a_plan(an_item(intent="Something else."))


@pytest.mark.case("P01")
def test_everything_of_an_end_is_of_one_transaction(database: Database, superuser_url: str) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    report = Report(
        task=task.id,
        epoch=attempt.epoch,
        attempt=attempt.id,
        exit_code=0,
        outcome=Outcome.committed,
        commit="c" * 40,
        tree="t",
        out_of_scope=EXTRA,
    )

    with database.transaction() as db:
        settlements.settle(db, report, actor="worker")

    written = asked(
        superuser_url,
        "SELECT (SELECT xmin::text FROM task), (SELECT xmin::text FROM attempt), (SELECT xmin::text FROM pause),"
        " (SELECT xmin::text FROM gate), (SELECT xmin::text FROM commit_ledger),"
        " (SELECT xmin::text FROM task_event WHERE event = 'pause')",
    )
    assert len(set(written[0])) == 1


def test_an_end_that_waits_for_a_new_revision_is_stale(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    other = a_plan(an_item(intent="Something else."))

    settled = in_turn(database, lambda db: revise(db, task, other), lambda db: end(db, attempt))

    assert isinstance(settled, Settled)
    assert (settled.attempt_state, settled.word) == (A.stale, "context_moved")


@pytest.mark.case("S11")
def test_an_end_that_waits_for_a_cancellation_closes_the_task(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    settled = in_turn(
        database,
        lambda db: interventions.cancel(db, task.id, actor="rev", reason="not needed"),
        lambda db: end(db, attempt),
    )

    assert isinstance(settled, Settled)
    assert (settled.attempt_state, settled.task.state) == (A.cancelled, S.cancelled)


@pytest.mark.case("A16")
def test_an_end_that_waits_for_a_take_over_is_a_lost_lease(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    other = a_worker(database)

    settled = in_turn(database, lambda db: taken_over(db, task, other.id), lambda db: end(db, attempt))

    assert isinstance(settled, LeaseLost)
    assert events(database, task) == ["add", "claim", "take_over"]


def test_an_end_that_waits_for_the_same_end_is_refused(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    settled = in_turn(database, lambda db: end(db, attempt), lambda db: end(db, attempt))

    assert isinstance(settled, Refusal)
    assert settled.code == "attempt_ended"
    assert events(database, task).count("settle") == 1


def end(db: Connection, attempt: Attempt) -> Settled:
    report = Report(
        task=attempt.task_id, epoch=attempt.epoch, attempt=attempt.id, exit_code=0, outcome=Outcome.unchanged
    )
    return settlements.settle(db, report, actor="worker")


def taken_over(db: Connection, task: Task, worker: int) -> Task | None:
    return claims.take_over(
        db,
        task=task.id,
        epoch=task.lease_epoch,
        worker=worker,
        actor="recovery",
        lease=HOUR,
        proven_dead=True,
        reason="its worker is gone",
    )
