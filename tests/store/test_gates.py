"""Gates: listed oldest first with what a person wants to see, and closed once."""

from uuid import UUID

import pytest

from statemachine.gates import GateKind, GateState
from statemachine.refusals import LostRace, NotFound, Refusal
from statemachine.tasks import TaskEvent
from store import gates, tasks
from store.engine import Database
from tests.factories import a_task, a_task_at_gate
from tests.store.scenes import aged, gate_id, noticed, seen, the_gate


def test_open_gates_are_listed_oldest_first_with_their_task(database: Database, superuser_url: str) -> None:
    young, old = a_task_at_gate(database, GateKind.review), a_task_at_gate(database, GateKind.failure)
    aged(superuser_url, "UPDATE gate SET opened_at = opened_at - interval '1 day' WHERE task_id = %s", old.id)
    noticed(database, a_task(database))

    with database.connection() as db:
        listed, failures = gates.listing(db), gates.listing(db, kind=GateKind.failure)

    assert [gate.task_id for gate in listed][:2] == [old.id, young.id]
    assert [(gate.kind, gate.owed_findings) for gate in listed] == [("failure", 0), ("review", 0), ("finding", 1)]
    assert [(gate.id, gate.title, gate.task_version) for gate in failures] == [(old.gate_id, old.title, old.version)]


def test_a_gate_is_closed_once_and_says_by_whom(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.failure)
    gate = the_gate(database, task)

    with database.transaction() as db:
        closed = gates.close(db, gate, GateState.approved, actor="rev", comment="fine")
        with pytest.raises(LostRace) as refused:
            gates.close(db, gate, GateState.rejected, actor="bob")
        tasks.move(db, task, TaskEvent.retry, actor="rev")

    assert (closed.state, closed.decided_by, closed.comment) == ("approved", "rev", "fine")
    assert refused.value.code == "stale_view"


def test_a_gate_that_is_closed_without_moving_its_task_is_refused_at_the_end(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.failure)

    with pytest.raises(Refusal) as refused:
        close_alone(database, gate_id(task))

    assert refused.value.facts["constraint"] == "task_gate_is_open"
    assert (seen(database, task), the_gate(database, task).state) == (task, "open")


def close_alone(database: Database, gate: UUID) -> None:
    with database.transaction() as db:
        gates.close(db, gates.get(db, gate), GateState.approved, actor="rev")


def test_a_gate_nobody_opened_is_not_found(database: Database) -> None:
    with database.connection() as db, pytest.raises(NotFound) as refused:
        gates.get(db, UUID(int=7))

    assert refused.value.code == "gate_not_found"


@pytest.mark.parametrize("kind", list(GateKind))
def test_every_gate_says_why_it_is_there_and_about_which_head(database: Database, kind: GateKind) -> None:
    task = a_task_at_gate(database, kind)

    gate = the_gate(database, task)

    assert (gate.kind, gate.head, gate.state) == (kind, task.head, "open")
    assert gate.reason
