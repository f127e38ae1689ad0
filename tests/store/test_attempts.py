"""Attempts: admitted with what holds now, launched only if it still does, and remembered."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from statemachine.attempts import AttemptKind, StopReason
from statemachine.refusals import LeaseLost, NotFound, Refusal
from store import allocations, attempts
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Database
from store.tasks import Task
from tests.factories import a_plan, a_running_task, a_settled, an_attempt, an_item
from tests.store.scenes import (
    DONE,
    HOUR,
    aged,
    cancel,
    change_policy,
    isolation_failed,
    noticed,
    revised,
    seen,
    stop,
    the_attempt,
)


def placed(database: Database, attempt: Attempt) -> Allocation:
    """Make a ready workspace for an attempt that is not launched yet."""
    with database.transaction() as db:
        place = allocations.reserve(db, attempt, allocation=uuid4(), host="h")
        return allocations.ready(db, place, epoch=attempt.epoch, path="/p", base=attempt.base, baseline="{}")


def launch(database: Database, attempt: Attempt, place: Allocation, generation: int = 1) -> attempts.Launched:
    with database.connection() as db:
        return attempts.launch(db, attempt, allocation=place.id, generation=generation, links_digest="d")


def test_an_attempt_is_admitted_with_what_holds_now(database: Database) -> None:
    task = a_running_task(database)

    attempt = an_attempt(database, task, launched=False)

    assert (attempt.number, attempt.epoch, attempt.state) == (1, task.lease_epoch, "pending")
    assert (attempt.revision, attempt.context, attempt.policy_version) == (task.revision, task.context, 1)
    assert (attempt.base, attempt.executor, attempt.worker_id) == (task.head, task.executor, task.lease_worker)
    assert seen(database, task).version == task.version + 1


@pytest.mark.case("A03")
def test_an_attempt_from_before_a_new_revision_is_refused_with_nothing_written(database: Database) -> None:
    task = a_running_task(database)
    revised(database, task, a_plan(an_item(intent="Something else.")))
    before = seen(database, task)

    with database.connection() as db, pytest.raises(Refusal) as refused:
        attempts.admit(db, task, attempt=uuid4(), kind=AttemptKind.execute, item="P1")

    assert refused.value.code == "not_admitted"
    assert seen(database, task) == before
    with database.connection() as db:
        assert attempts.listing(db, task.id) == []


def test_nothing_is_admitted_once_a_stop_was_asked_for(database: Database) -> None:
    task = a_running_task(database)
    stopped = stop(database, task, StopReason.user, "rev")
    assert stopped is not None

    with database.connection() as db, pytest.raises(Refusal) as refused:
        attempts.admit(db, stopped, attempt=uuid4(), kind=AttemptKind.execute, item="P1")

    assert refused.value.code == "not_admitted"


def test_an_item_the_plan_does_not_have_is_refused_by_name(database: Database) -> None:
    task = a_running_task(database)

    with database.connection() as db, pytest.raises(Refusal) as refused:
        attempts.admit(db, task, attempt=uuid4(), kind=AttemptKind.execute, item="P404")

    assert refused.value.code == "unknown_reference"
    assert seen(database, task) == task


def test_a_launch_says_when_it_began_and_counts_as_a_change(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task, launched=False)
    place = placed(database, attempt)

    launched = launch(database, attempt, place)

    now = the_attempt(database, attempt)
    assert (now.state, now.started_at, now.allocation_id) == ("running", launched.started_at, place.id)
    assert (now.links_digest, launched.version, launched.budget_left) == ("d", task.version + 2, None)


def change_its_policy(database: Database, task: Task, _: str) -> None:
    change_policy(database, task)


def spend_its_budget(_database: Database, _task: Task, url: str) -> None:
    aged(url, "UPDATE task SET running_since = running_since - budget")


BEFORE_THE_LAUNCH: dict[str, Callable[[Database, Task, str], object]] = {
    "a stop": lambda database, task, _: stop(database, task, StopReason.user, "rev"),
    "a cancellation": lambda database, task, _: cancel(database, task),
    "a finding": lambda database, task, _: noticed(database, task),
    "a revision": lambda database, task, _: revised(database, task, a_plan(an_item(intent="Other."))),
    "a policy": change_its_policy,
    "a spent budget": spend_its_budget,
}


@pytest.mark.case("S02", "X05")
@pytest.mark.parametrize("what", BEFORE_THE_LAUNCH)
def test_whatever_comes_before_the_second_boundary_refuses_the_launch(
    database: Database, superuser_url: str, what: str
) -> None:
    task = a_running_task(database, plan=a_plan(budget=HOUR))
    attempt = an_attempt(database, task, launched=False)
    place = placed(database, attempt)
    BEFORE_THE_LAUNCH[what](database, task, superuser_url)
    before = seen(database, task)

    with pytest.raises(Refusal) as refused:
        launch(database, attempt, place)

    assert refused.value.code == "not_launched"
    assert seen(database, task) == before
    assert (the_attempt(database, attempt).state, the_attempt(database, attempt).started_at) == ("pending", None)


SWITCHED = {
    "its generation": "UPDATE allocation SET generation = generation + 1",
    "its executor": "UPDATE allocation SET executor = 'docker'",
    "its epoch": "UPDATE allocation SET epoch = epoch + 1",
    "its base": "UPDATE allocation SET base = repeat('d', 40)",
    "its state": "UPDATE allocation SET state = 'quarantined', ended_at = now()",
    "its task": "UPDATE allocation SET task_id = task_id + 1",
}


@pytest.mark.case("W09")
@pytest.mark.parametrize("what", SWITCHED)
def test_a_workspace_that_changed_between_the_boundaries_is_refused_at_the_second(
    database: Database, superuser_url: str, what: str
) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)
    place = placed(database, attempt)
    aged(superuser_url, SWITCHED[what])

    with pytest.raises(Refusal) as refused:
        launch(database, attempt, place)

    assert refused.value.code == "not_launched"
    assert the_attempt(database, attempt) == attempt


@pytest.mark.case("W09")
def test_another_workspace_or_generation_than_the_one_prepared_is_refused(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)
    place = placed(database, attempt)
    other = replace(place, id=UUID(int=1))

    for wrong, generation in ((other, 1), (place, 2)):
        with pytest.raises(Refusal):
            launch(database, attempt, wrong, generation)

    assert the_attempt(database, attempt) == attempt


def test_an_attempt_is_launched_once(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)
    place = placed(database, attempt)
    launch(database, attempt, place)

    with pytest.raises(Refusal) as refused:
        launch(database, attempt, place)

    assert refused.value.code == "not_launched"


@pytest.mark.case("S02")
def test_the_handle_of_what_runs_is_remembered_although_a_stop_came_first(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    stop(database, task, StopReason.user, "rev")

    with database.connection() as db:
        attempts.note_handle(db, attempt, {"pid": 7, "boot": "b"})

    assert the_attempt(database, attempt).handle == {"pid": 7, "boot": "b"}


def test_a_handle_of_an_attempt_that_ended_is_a_lost_lease(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    a_settled(database, task, attempt, **DONE)

    with database.connection() as db, pytest.raises(LeaseLost):
        attempts.note_handle(db, attempt, {"pid": 7})

    assert the_attempt(database, attempt).handle is None


def test_a_failure_of_isolation_counts_as_first_only_if_no_stop_came_before(database: Database) -> None:
    tasks = [a_running_task(database) for _ in range(2)]
    early, late = (an_attempt(database, task) for task in tasks)

    isolation_failed(database, early)
    for task in tasks:
        stop(database, task, StopReason.shutdown)
    isolation_failed(database, late)

    noted = [the_attempt(database, attempt).isolation_failure for attempt in (early, late)]
    assert noted == ["timeout", None]


def test_attempts_are_listed_in_the_order_they_were_admitted(database: Database) -> None:
    task = a_running_task(database)
    first = an_attempt(database, task)
    a_settled(database, task, first, exit_code=1)
    second = an_attempt(database, task)

    with database.connection() as db:
        listed = attempts.listing(db, task.id)

    assert [(attempt.id, attempt.number) for attempt in listed] == [(first.id, 1), (second.id, 2)]


def test_an_attempt_nobody_made_is_not_found(database: Database) -> None:
    with database.connection() as db, pytest.raises(NotFound) as refused:
        attempts.get_attempt(db, UUID(int=7))

    assert refused.value.code == "attempt_not_found"
