"""Findings: recorded whatever the task is doing, and never twice."""

import pytest

from statemachine.attempts import AttemptState, StopReason
from statemachine.findings import FindingKind, FindingState
from statemachine.gates import GateKind
from statemachine.steps import Cancel
from statemachine.tasks import TaskEvent, TaskState
from store import findings, interventions, tasks
from store.engine import Database
from store.findings import NewFinding
from tests.factories import (
    a_finding,
    a_merging_task,
    a_running_task,
    a_settled,
    a_task,
    a_task_at_gate,
    an_approved_task,
    an_attempt,
)
from tests.store.scenes import (
    DONE,
    cancel,
    decided,
    events,
    gates_of,
    moves,
    noticed,
    owed,
    seen,
    the_attempt,
    the_gate,
    what_is_next,
)

S, G, F = TaskState, GateKind, FindingState
RESTING = [G.review, G.approval, G.fixed, G.scope, G.limit, G.failure]


@pytest.mark.case("F14", "F17")
@pytest.mark.parametrize("kind", RESTING)
def test_a_finding_stops_a_waiting_task_and_its_gate_takes_the_place_of_the_open_one(
    database: Database, superuser_url: str, kind: GateKind
) -> None:
    task = a_task_at_gate(database, kind)

    stopped = noticed(database, task)

    assert (stopped.state, stopped.owed_findings, stopped.version) == (S.needs_human, 1, task.version + 1)
    assert gates_of(superuser_url, task)[-2:] == [(kind, "superseded"), (G.finding, "open")]
    line = moves(database, task)[-1]
    assert (line.event, line.source, line.actor, line.reason) == (
        "raise_finding",
        task.state,
        "rev",
        "a person saw this",
    )


@pytest.mark.case("F14")
@pytest.mark.parametrize("make", [a_task, an_approved_task, a_running_task])
def test_a_finding_stops_a_task_that_is_queued_approved_or_between_items(database: Database, make: object) -> None:
    assert callable(make)
    task = make(database)

    stopped = noticed(database, task)

    assert (stopped.state, stopped.owed_findings, stopped.lease_worker) == (S.needs_human, 1, None)
    assert the_gate(database, task).kind is G.finding


@pytest.mark.case("F14")
def test_a_finding_during_an_attempt_is_stored_at_once_and_settlement_moves_the_task(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    during = noticed(database, task)
    settled = a_settled(database, task, attempt, **DONE)

    assert (during.state, during.owed_findings, during.stop_reason, during.stop_by) == (
        *(S.running, 1),
        *(StopReason.user, "rev"),
    )
    assert (settled.attempt_state, settled.task.state) == (AttemptState.cancelled, S.needs_human)


def test_a_finding_during_an_attempt_that_is_stopped_already_keeps_the_first_reason(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    with database.transaction() as db:
        interventions.stop(db, task.id, actor="ann")

    noticed(database, task)

    assert seen(database, task).stop_by == "ann"
    assert the_attempt(database, attempt).first_reason is StopReason.user


def test_a_finding_never_undoes_a_cancellation_that_waits_for_the_next_step(database: Database) -> None:
    task = a_running_task(database)
    cancel(database, task)

    during = noticed(database, task)
    step = what_is_next(database, task)
    with database.connection() as db:
        closed = tasks.move(db, seen(database, task), TaskEvent.cancel, actor="w1", epoch=1)

    assert (during.state, during.cancel_requested, during.owed_findings) == (S.running, True, 1)
    assert (step, closed.state, closed.owed_findings) == (Cancel(), S.cancelled, 1)


def test_a_finding_at_a_finding_gate_joins_it_and_is_a_new_version(database: Database, superuser_url: str) -> None:
    task = a_task_at_gate(database, G.finding)

    joined = noticed(database, task, "another thing", paths=["elsewhere"])

    assert (joined.owed_findings, joined.gate_id, joined.version) == (2, task.gate_id, task.version + 1)
    assert gates_of(superuser_url, task) == [(G.finding, "open")]
    assert events(database, task).count("raise_finding") == 1


@pytest.mark.case("F15")
def test_a_finding_while_merging_is_stored_and_moves_nothing(database: Database) -> None:
    task = a_merging_task(database)

    stored = noticed(database, task)

    assert (stored.state, stored.owed_findings, stored.version) == (S.merging, 1, task.version + 1)
    assert [finding.late for finding in owed(database, task)] == [False]


@pytest.mark.case("F20")
def test_a_finding_on_a_closed_task_is_late_and_shown_first(database: Database) -> None:
    open_task = a_task_at_gate(database, G.finding)
    task = cancel(database, a_task(database))

    stored = noticed(database, task)

    assert (stored.state, stored.owed_findings, stored.version) == (S.cancelled, 1, task.version + 1)
    with database.connection() as db:
        listed = findings.listing(db)
    assert [(finding.task_id, finding.late) for finding in listed] == [(task.id, True), (open_task.id, False)]


@pytest.mark.case("F20")
@pytest.mark.parametrize("state", [F.accepted, F.dismissed])
def test_a_late_finding_can_be_decided(database: Database, state: FindingState) -> None:
    task = cancel(database, a_task(database))
    noticed(database, task)

    row = decided(database, owed(database, task)[0], state=state)

    assert (row.state, row.late, row.decided_by, row.reason) == (state, True, "rev", "seen")
    assert (seen(database, task).state, seen(database, task).owed_findings) == (S.cancelled, 0)


def test_nothing_seen_is_nothing_recorded(database: Database) -> None:
    task = a_task(database)

    with database.transaction() as db:
        findings.record(db, task.id, [], actor="rev")

    assert seen(database, task) == task


@pytest.mark.case("F06")
def test_the_same_thing_seen_again_is_the_same_finding(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    noticed(database, task, "told in other words")

    assert [finding.summary for finding in owed(database, task)] == [a_finding().summary]


@pytest.mark.case("F10")
def test_a_long_text_is_cut_and_its_evidence_kept_whole(database: Database) -> None:
    task = a_running_task(database)
    evidence = {"paths": ["p" * 3_000] * 10, "deep": {"er": "e" * 10_000}}
    long = NewFinding.seen(FindingKind.manual, "s" * 10_000, item="P1", evidence=evidence)

    a_settled(database, task, findings=(long,))

    stored = owed(database, task)[0]
    assert len(stored.summary) == 4_000
    assert stored.summary.endswith(" [10000 characters, 0 replaced]")
    assert stored.evidence == evidence
