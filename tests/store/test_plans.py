"""Plan revisions: immutable, numbered, and never won by two savers."""

from datetime import timedelta

import pytest

from statemachine.plans import ApprovalMode, Operation, OperationKind, item_digest
from statemachine.refusals import LostRace, NotFound, Refusal
from statemachine.settlement import Outcome
from store import plans
from store.engine import Connection, Database
from store.tasks import Task
from tests.factories import a_done_item, a_plan, a_running_task, a_settled, a_task, an_attempt, an_item
from tests.store.scenes import at_once, revised

WHOLE = a_plan(
    an_item("P1", approval=ApprovalMode.before, time_limit=timedelta(minutes=10), retries=3),
    an_item("P2", operations=(Operation(kind=OperationKind.rename, path="b", renamed_from="a"),), depends_on=("P1",)),
    title="Häufige Fälle ☂",
    approval=ApprovalMode.before,
    budget=timedelta(hours=2),
    checks=("pytest -q",),
    check_retries=2,
    fixed_if="true",
    review="claude",
)


def save(db: Connection, task: Task, number: int = 2) -> plans.Revision:
    return plans.save(db, task=task.id, number=number, plan=a_plan(), cause="amend", actor="ann", made_in=task.state)


def test_a_saved_plan_is_read_back_as_it_was(database: Database) -> None:
    task = a_task(database, plan=WHOLE)

    with database.connection() as db:
        revision, items = plans.current(db, task=task.id, number=1), plans.items(db, task.id)

    assert revision.plan == WHOLE
    assert [item.digest for item in items] == [item_digest(item) for item in WHOLE.items]
    assert [(item.approval, item.retries, item.position) for item in items] == [("before", 3, 1), ("none", 1, 2)]


def test_of_two_savers_of_one_number_one_wins(database: Database) -> None:
    task = a_task(database)

    def saver() -> plans.Revision:
        with database.connection() as db:
            return save(db, task)

    saved = at_once([saver, saver])

    refused = [each for each in saved if isinstance(each, Refusal)]
    assert [(type(each), each.code) for each in refused] == [(LostRace, "conflict")]


@pytest.mark.parametrize("change", ["UPDATE plan_revision SET made_by = 'x'", "UPDATE plan_item SET retries = 9"])
def test_a_saved_revision_never_changes(database: Database, change: str) -> None:
    a_task(database)

    with database.connection() as db, pytest.raises(Refusal) as refused:
        db.execute(change.encode())

    assert refused.value.code == "append_only"


def test_a_revision_nobody_saved_is_not_found(database: Database) -> None:
    task = a_task(database)

    with database.connection() as db, pytest.raises(NotFound) as refused:
        plans.current(db, task=task.id, number=2)

    assert refused.value.code == "revision_not_found"


def test_items_tell_what_became_of_them_under_the_current_revision(database: Database) -> None:
    plan = a_plan(*(an_item(f"P{n}") for n in (1, 2, 3)))
    task = a_running_task(database, plan=plan)
    a_done_item(database, task)
    a_done_item(database, task, "P2", outcome=Outcome.unchanged)
    a_settled(database, task, an_attempt(database, task, item="P3"), exit_code=1)

    revised(database, task, a_plan(*plan.items, an_item("P4")))

    with database.connection() as db:
        states = {item.item_id: item.state for item in plans.items(db, task.id)}
    assert states == {"P1": "done", "P2": "unchanged", "P3": "failed", "P4": "waiting"}
