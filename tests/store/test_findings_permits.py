"""Findings: permitted in advance only for the same thing on the same item and declared files."""

from dataclasses import replace

import pytest

from statemachine.findings import FindingKind, FindingState
from statemachine.gates import GateKind
from statemachine.plans import Operation, OperationKind
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store import findings, tasks
from store.engine import Database
from store.findings import NewFinding
from store.tasks import Task
from tests.factories import (
    a_finding,
    a_plan,
    a_running_task,
    a_settled,
    a_task_at_gate,
    an_item,
)
from tests.store.scenes import (
    HOUR,
    UNSAFE,
    approved,
    decided,
    owed,
    revised,
    seen,
)

S, G, F = TaskState, GateKind, FindingState
RESTING = [G.review, G.approval, G.fixed, G.scope, G.limit, G.failure]


def permitted(database: Database, task: Task, item: str = "P1") -> frozenset[str]:
    with database.connection() as db:
        return findings.permits(db, task=task.id, item=item, revision=tasks.get(db, task.id).revision)


@pytest.mark.case("F19")
def test_what_was_permitted_passes_again_on_the_same_item_and_what_was_only_dismissed_does_not(
    database: Database,
) -> None:
    task = a_task_at_gate(database, G.finding)
    approved(database, task, dismiss_all=True, reason="harmless")
    before = permitted(database, task)
    a_settled(database, a_running_task(database, task), **UNSAFE)

    approved(database, task, dismiss_all=True, reason="harmless", permit=True)

    assert before == frozenset()
    assert permitted(database, task) == {a_finding().fingerprint}
    assert permitted(database, task, item="P2") == frozenset()


@pytest.mark.case("F19")
def test_a_permit_ends_with_the_declared_files_it_was_given_for_and_with_nothing_else(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)
    approved(database, task, dismiss_all=True, reason="harmless", permit=True)

    revised(database, task, a_plan(an_item(intent="Said in other words.", title="Other")))
    reworded = permitted(database, task)
    more = (*an_item().operations, Operation(kind=OperationKind.add, path="more.txt"))
    revised(database, task, a_plan(replace(an_item(), operations=more)))

    assert reworded == {a_finding().fingerprint}
    assert permitted(database, task) == frozenset()


@pytest.mark.case("F19")
def test_a_permit_outlives_a_new_time_limit(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    approved(database, task, dismiss_all=True, reason="harmless", permit=True, time_limit=HOUR)

    assert seen(database, task).revision == 2
    assert permitted(database, task) == {a_finding().fingerprint}


@pytest.mark.case("F19")
def test_a_kind_nobody_may_wave_through_is_not_permittable_and_nothing_is_decided(database: Database) -> None:
    bad = NewFinding.seen(FindingKind.bad_path, "a bad path", item="P1")
    task = a_task_at_gate(database, G.finding, findings=(a_finding(), bad))

    with pytest.raises(Refusal) as refused:
        approved(database, task, dismiss_all=True, reason="harmless", permit=True)

    assert refused.value.code == "not_permittable"
    assert len(owed(database, task)) == 2
    assert seen(database, task) == task


@pytest.mark.case("F19")
def test_an_accepted_finding_permits_nothing(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    with pytest.raises(Refusal) as refused:
        decided(database, owed(database, task)[0], state=F.accepted, permit=True)

    assert refused.value.code == "not_permittable"
