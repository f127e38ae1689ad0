"""Between items: what is due, read anew under the lease."""

import pytest

from statemachine.attempts import AttemptKind
from statemachine.plans import ApprovalMode
from statemachine.refusals import LeaseLost
from statemachine.settlement import Outcome
from statemachine.steps import AwaitApproval, GiveUp, HitLimit, RunChecks, RunItem, Submit
from statemachine.tasks import TaskEvent
from store import checks, steps, tasks
from store.engine import Database
from store.tasks import Task
from tests.factories import a_done_item, a_plan, a_running_task, a_settled, a_task, an_attempt, an_item
from tests.store.scenes import HOUR, a_check_ended, aged, seen, what_is_next


def checked(database: Database, task: Task, **results: int) -> None:
    """Run the checks named and settle: 0 passed."""
    attempt = an_attempt(database, task, item=None, kind=AttemptKind.check)
    for command, code in results.items():
        a_check_ended(database, attempt, command, code)
    worst = max(results.values())
    a_settled(database, task, attempt, exit_code=worst, outcome=None if worst else Outcome.unchanged)


def test_items_come_in_their_order_then_the_checks_then_the_review(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item("P1"), an_item("P2"), checks=("lint", "test")))

    due = [what_is_next(database, task)]
    for item in ("P1", "P2"):
        a_done_item(database, task, item)
        due.append(what_is_next(database, task))
    checked(database, task, lint=0, test=0)
    due.append(what_is_next(database, task))

    assert due == [
        RunItem("P1", AttemptKind.execute),
        RunItem("P2", AttemptKind.execute),
        RunChecks(("lint", "test")),
        Submit(),
    ]


@pytest.mark.case("X12")
def test_only_checks_that_did_not_pass_on_exactly_this_head_are_due(database: Database) -> None:
    plan = a_plan(an_item("P1"), checks=("lint", "test"), check_retries=1)
    task = a_running_task(database, plan=plan)
    a_done_item(database, task)

    checked(database, task, lint=0, test=1)
    failed_once = what_is_next(database, task)
    with database.connection() as db:
        other = checks.latest(db, task=task.id, head=task.base)

    assert failed_once == RunChecks(("test",))
    assert other == []


@pytest.mark.case("X12")
def test_a_check_that_passes_in_the_end_counts_and_one_past_its_retries_gives_up(database: Database) -> None:
    plan = a_plan(checks=("lint",), check_retries=1)
    fixed, broken = (a_running_task(database, plan=plan) for _ in range(2))

    for task, code in ((fixed, 0), (broken, 1)):
        a_done_item(database, task)
        checked(database, task, lint=1)
        checked(database, task, lint=code)

    assert what_is_next(database, fixed) == Submit()
    assert seen(database, broken).state == "needs_human"
    with database.connection() as db:
        results = checks.latest(db, task=broken.id, head=seen(database, broken).head)
    assert [(result.command, result.exit_code, result.passed) for result in results] == [("lint", 1, False)]


def test_an_item_past_its_retries_is_given_up_between_items_too(database: Database, superuser_url: str) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=1)))
    aged(superuser_url, "UPDATE task SET failures = 2")

    step = what_is_next(database, task)

    assert step == GiveUp("P1")


@pytest.mark.case("A10")
def test_a_spent_budget_comes_before_the_next_item_and_before_its_question(
    database: Database, superuser_url: str
) -> None:
    plan = a_plan(an_item(approval=ApprovalMode.before), budget=HOUR)
    task = a_running_task(database, plan=plan)

    before = what_is_next(database, task)
    aged(superuser_url, "UPDATE task SET running_since = running_since - budget")
    after = what_is_next(database, task)

    assert (before, after) == (AwaitApproval("P1"), HitLimit())


@pytest.mark.case("R02")
def test_a_task_that_was_between_items_goes_on_at_the_first_item_that_is_not_done(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item("P1"), an_item("P2")))
    done = a_done_item(database, task)

    with database.connection() as db:
        queued = tasks.move(db, done, TaskEvent.requeue, actor="recovery", epoch=1)
    held = a_running_task(database, queued)

    assert (queued.state, held.head, held.lease_epoch) == ("queued", done.head, 2)
    assert what_is_next(database, held) == RunItem("P2", AttemptKind.execute)


@pytest.mark.case("A16")
def test_whoever_lost_the_lease_learns_nothing(database: Database) -> None:
    task = a_running_task(database)

    with database.connection() as db:
        for epoch in (0, 2):
            with pytest.raises(LeaseLost):
                steps.facts(db, task=task.id, epoch=epoch)
        with pytest.raises(LeaseLost):
            steps.facts(db, task=a_task(database).id, epoch=0)


def test_the_kind_of_work_that_is_due_after_an_item_is_known(database: Database) -> None:
    checked_plan, plain = a_plan(an_item("P1"), an_item("P2"), checks=("lint",)), a_plan()
    held = [a_running_task(database, plan=plan) for plan in (checked_plan, plain)]
    a_done_item(database, held[0])

    with database.connection() as db:
        kinds = [
            steps.kind_after(db, task=held[0].id, done="P1"),
            steps.kind_after(db, task=held[0].id, done="P2"),
            steps.kind_after(db, task=held[1].id, done="P1"),
        ]

    assert kinds == [AttemptKind.execute, AttemptKind.check, AttemptKind.execute]
