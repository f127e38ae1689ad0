"""Tasks that wait in a queue or for nobody: only a spent budget moves one."""

from datetime import timedelta

import pytest

from statemachine.tasks import TaskState
from store.engine import Database
from tests.factories import a_merging_task, a_plan, a_task, an_approved_task
from tests.recovery.scenes import everything, said
from tests.store.scenes import aged, cancel, events, gates_of, seen
from tests.workshop import Workshop


@pytest.mark.case("R01", "A10")
def test_a_queued_task_without_budget_goes_to_its_limit_gate_once(
    workshop: Workshop, database: Database, superuser_url: str
) -> None:
    spent, fresh, free = (
        a_task(database, plan=a_plan(budget=budget)) for budget in (timedelta(hours=1), timedelta(hours=1), None)
    )
    aged(superuser_url, "UPDATE task SET spent = budget WHERE id = %s", spent.id)

    first, second = workshop.recover(), workshop.recover()

    assert (said(first), said(second)) == ([(spent.id, "hit_limit")], [])
    assert events(database, spent) == ["add", "hit_limit"]
    assert gates_of(superuser_url, spent) == [("limit", "open")]
    assert [seen(database, task).state for task in (fresh, free)] == [TaskState.queued] * 2


@pytest.mark.case("R01")
def test_queued_approved_merging_and_closed_tasks_are_untouched(
    workshop: Workshop, database: Database, superuser_url: str
) -> None:
    a_task(database)
    an_approved_task(database)
    a_merging_task(database)
    cancel(database, a_task(database))
    before = everything(superuser_url)

    workshop.recover()

    assert everything(superuser_url) == before
