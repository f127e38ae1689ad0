"""The ledger: what is done in order, and taken back from one row on."""

import pytest

from statemachine.refusals import Refusal
from statemachine.settlement import Outcome
from store import ledger
from store.engine import Database
from store.tasks import Task
from tests.factories import a_done_item, a_plan, a_running_task, an_item
from tests.store.scenes import seen


def three(database: Database) -> Task:
    plan = a_plan(*(an_item(f"P{n}", path=f"{n}.txt") for n in (1, 2, 3)))
    task = a_running_task(database, plan=plan)
    a_done_item(database, task, "P1")
    a_done_item(database, task, "P2", outcome=Outcome.unchanged)
    return a_done_item(database, task, "P3")


def test_each_row_begins_where_the_head_was_and_the_head_is_the_last_commit(database: Database) -> None:
    task = three(database)

    with database.connection() as db:
        first, second, third = ledger.live(db, task.id)

    assert (first.parent, second.parent, third.parent) == (task.base, first.commit, first.commit)
    assert (second.outcome, second.commit, third.commit) == ("unchanged", None, task.head)
    assert (task.context, seen(database, task).head) == (3, third.commit)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_discard_takes_a_row_and_every_later_one(database: Database, first: int) -> None:
    task = three(database)
    with database.connection() as db:
        rows = ledger.live(db, task.id)

        gone = ledger.discard(db, task=task.id, first=rows[first].id, actor="rev", reason="no")
        again = ledger.discard(db, task=task.id, first=rows[first].id, actor="rev", reason="no")

        assert [entry.id for entry in gone] == [entry.id for entry in rows[first:]]
        assert [entry.id for entry in ledger.live(db, task.id)] == [entry.id for entry in rows[:first]]
        assert len(ledger.listing(db, task.id)) == 3
    assert again == []
    assert {(entry.state, entry.discarded_by, entry.discarded_reason) for entry in gone} == {("discarded", "rev", "no")}


def test_a_discard_leaves_other_tasks_alone(database: Database) -> None:
    task, other = three(database), three(database)

    with database.connection() as db:
        ledger.discard(db, task=task.id, first=ledger.live(db, task.id)[0].id, actor="rev", reason="no")

        assert len(ledger.live(db, other.id)) == 3


def test_a_discarded_row_never_lives_again(database: Database) -> None:
    task = three(database)
    with database.connection() as db:
        ledger.discard(db, task=task.id, first=0, actor="rev", reason="no")

        with pytest.raises(Refusal) as refused:
            db.execute("UPDATE commit_ledger SET state = 'live', discarded_by = NULL")

    assert refused.value.code == "no_such_edge"
