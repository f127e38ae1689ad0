"""Interventions: a person stops, cancels or retries a task, from wherever it is."""

import pytest

from statemachine.attempts import AttemptState
from statemachine.gates import GateKind
from statemachine.refusals import Refusal
from statemachine.settlement import Outcome
from statemachine.steps import Cancel, Halt
from statemachine.tasks import TaskState
from store import claims, interventions
from store.engine import Database
from tests.factories import (
    a_plan,
    a_running_task,
    a_settled,
    a_task,
    a_task_at_gate,
    an_approved_task,
    an_attempt,
    an_item,
)
from tests.store.scenes import (
    HOUR,
    cancel,
    events,
    gates_of,
    moves,
    noticed,
    owed,
    said,
    seen,
    the_attempt,
    what_is_next,
)

S, G = TaskState, GateKind


def test_a_stop_between_items_halts_at_the_next_step(database: Database) -> None:
    task = a_running_task(database)

    with database.transaction() as db:
        stopped = interventions.stop(db, task.id, actor="rev", if_version=task.version)

    assert (stopped.state, stopped.stop_reason, stopped.stop_by) == (S.running, "user", "rev")
    assert what_is_next(database, task) == Halt()


@pytest.mark.parametrize("make", [a_task, an_approved_task])
def test_what_does_not_run_cannot_be_stopped(database: Database, make: object) -> None:
    assert callable(make)
    task = make(database)

    with database.transaction() as db, pytest.raises(Refusal) as refused:
        interventions.stop(db, task.id, actor="rev")

    assert refused.value.code == "not_running"
    assert seen(database, task) == task


@pytest.mark.parametrize("kind", list(GateKind))
def test_a_waiting_task_is_cancelled_at_once_and_its_gate_withdrawn(
    database: Database, superuser_url: str, kind: GateKind
) -> None:
    task = a_task_at_gate(database, kind)

    closed = cancel(database, task, "not needed")

    line = moves(database, task)[-1]
    assert (closed.state, closed.gate_id, closed.owed_pauses) == (S.cancelled, None, 0)
    assert gates_of(superuser_url, task) == [(kind, "withdrawn")]
    assert (line.event, line.actor, line.reason) == ("cancel", "rev", "not needed")


@pytest.mark.case("A07")
def test_a_running_attempt_is_stopped_and_its_settlement_closes_the_task(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    asked = cancel(database, task)
    with database.connection() as db:
        heard = claims.beat(db, worker=attempt.worker_id, held=[(task.id, 1)], lease=HOUR)
    settled = a_settled(database, task, attempt, exit_code=143)

    assert (asked.state, asked.cancel_requested) == (S.running, True)
    assert [(beat.stop_reason, beat.cancel_requested) for beat in heard] == [("user", True)]
    assert (the_attempt(database, attempt).state, settled.task.state) == (AttemptState.cancelled, S.cancelled)


def test_a_cancelled_task_between_items_is_closed_by_its_next_step(database: Database) -> None:
    task = a_running_task(database)

    cancel(database, task)

    assert what_is_next(database, task) == Cancel()


def test_what_is_closed_is_closed(database: Database) -> None:
    task = cancel(database, a_task(database))

    with database.transaction() as db, pytest.raises(Refusal) as refused:
        interventions.cancel(db, task.id, actor="rev", reason="")

    assert refused.value.code == "task_closed"
    assert seen(database, task) == task


def test_a_cancelled_task_keeps_the_findings_it_owes(database: Database) -> None:
    task = noticed(database, a_task(database))

    closed = cancel(database, task)

    assert (closed.state, closed.owed_findings) == (S.cancelled, 1)
    assert [(finding.state, finding.late) for finding in owed(database, task)] == [("open", False)]


@pytest.mark.parametrize("kind", [G.limit, G.failure])
def test_a_retry_queues_a_task_with_counts_that_start_afresh(
    database: Database, superuser_url: str, kind: GateKind
) -> None:
    task = a_task_at_gate(database, kind)

    with database.transaction() as db:
        queued = interventions.retry(db, task.id, said(retries=3, guidance="Again.", reason="go on"))

    assert (queued.state, queued.failures, queued.losses, queued.retries) == (S.queued, 0, 0, 3)
    assert (queued.context, queued.guidance) == (task.context, "Again.")
    assert gates_of(superuser_url, task) == [(kind, "approved")]


def test_granted_retries_last_until_the_item_is_done(database: Database) -> None:
    plan = a_plan(an_item("P1", retries=0), an_item("P2", retries=0))
    task = a_task_at_gate(database, G.failure, a_task(database, plan=plan))
    with database.transaction() as db:
        queued = interventions.retry(db, task.id, said(retries=1))

    held = a_running_task(database, queued)
    first = a_settled(database, held, exit_code=1)
    done = a_settled(database, held, outcome=Outcome.unchanged)
    failed = a_settled(database, held, an_attempt(database, held, item="P2"), exit_code=1)

    assert [each.event for each in (first, done, failed)] == ["settle", "settle", "give_up"]


@pytest.mark.parametrize("attempt", [AttemptState.stale, AttemptState.completed])
def test_an_attempt_that_has_nothing_to_retry_is_not_retryable(database: Database, attempt: AttemptState) -> None:
    task = a_task_at_gate(database, G.failure)

    with database.transaction() as db, pytest.raises(Refusal) as refused:
        interventions.retry(db, task.id, said(), attempt=attempt)

    assert refused.value.code == "not_retryable"
    assert seen(database, task) == task


@pytest.mark.parametrize("kind", [G.review, G.scope, G.approval, G.fixed])
def test_a_retry_elsewhere_than_where_it_rests_is_refused(database: Database, kind: GateKind) -> None:
    task = a_task_at_gate(database, kind)

    with database.transaction() as db, pytest.raises(Refusal) as refused:
        interventions.retry(db, task.id, said())

    assert refused.value.code == "not_at_gate"
    assert events(database, task)[-1] != "retry"
