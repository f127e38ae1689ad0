"""Approvals are rows: what is covered is not asked again, and what is not covered is asked whatever the path."""

import pytest

from statemachine.plans import ApprovalMode, Plan
from statemachine.steps import AwaitApproval, RunItem
from statemachine.tasks import TaskEvent
from store import approvals, tasks
from store.engine import Database
from store.tasks import Question, Task
from tests.factories import (
    a_done_item,
    a_plan,
    a_running_task,
    a_settled,
    a_submitted_task,
    a_task,
    an_attempt,
    an_item,
)
from tests.store.scenes import DONE, EXTRA, HOUR, approved, asked, noticed, rejected, revised, what_is_next

BOTH = a_plan(
    an_item("P1", approval=ApprovalMode.before),
    an_item("P2", path="docs/a.md", approval=ApprovalMode.before),
    approval=ApprovalMode.before,
)


def step(database: Database, task: Task) -> str:
    """Say what is due in one word: the subject that asks, or the item that runs."""
    match what_is_next(database, task):
        case AwaitApproval(item=None):
            return "plan asks"
        case AwaitApproval(item=item):
            return f"{item} asks"
        case RunItem(item=item):
            return f"{item} runs"
        case other:
            return str(other)


def asking(database: Database, task: Task, *subjects: str) -> Task:
    """Let a held task wait for an approval of these subjects."""
    with database.connection() as db:
        now = tasks.get(db, task.id)
        question = Question(reason="it asks", subjects=subjects)
        return tasks.move(db, now, TaskEvent.await_approval, actor="w1", question=question, epoch=now.lease_epoch)


def started(database: Database, plan: Plan = BOTH) -> Task:
    """Walk a task to where its plan and its first item are approved and it runs."""
    task = a_running_task(database, plan=plan)
    task = a_running_task(database, approved(database, asking(database, task, "plan")))
    return a_running_task(database, approved(database, asking(database, task, "item:P1")))


@pytest.mark.case("P10", "X15")
def test_plan_and_items_ask_in_turn_and_each_only_once(database: Database) -> None:
    task = a_running_task(database, plan=BOTH)

    said = [step(database, task)]
    task = a_running_task(database, approved(database, asking(database, task, "plan")))
    said.append(step(database, task))
    task = a_running_task(database, approved(database, asking(database, task, "item:P1")))
    said.append(step(database, task))
    a_done_item(database, task)
    said.append(step(database, task))

    assert said == ["plan asks", "P1 asks", "P1 runs", "P2 asks"]


@pytest.mark.case("P10")
def test_what_was_approved_is_not_asked_again_after_a_failure_a_finding_or_a_discard(database: Database) -> None:
    task = started(database)

    for _ in range(2):
        a_settled(database, task, exit_code=1)
    task = a_running_task(database, approved(database, task))
    after_failure = step(database, task)
    task = a_running_task(database, approved(database, noticed(database, task), dismiss_all=True, reason="harmless"))
    after_finding = step(database, task)
    paused = a_settled(database, task, **DONE, out_of_scope=EXTRA).task
    after_discard = step(database, a_running_task(database, rejected(database, paused, reason="no")))

    assert {after_failure, after_finding, after_discard} == {"P1 runs"}


@pytest.mark.case("P10")
def test_a_new_revision_of_the_authors_asks_for_the_plan_again_and_for_the_item_only_if_it_changed(
    database: Database,
) -> None:
    task = started(database)

    revised(database, task, a_plan(*BOTH.items, approval=ApprovalMode.before, checks=("true",)))
    plan_again = step(database, task)
    task = a_running_task(database, approved(database, asking(database, task, "plan")))
    same_item = step(database, task)
    changed = an_item("P1", intent="Something else.", approval=ApprovalMode.before)
    revised(database, task, a_plan(changed, BOTH.items[1]))
    other_item = step(database, task)

    assert (plan_again, same_item, other_item) == ("plan asks", "P1 runs", "P1 asks")


@pytest.mark.case("P10")
def test_a_reviewers_time_limit_keeps_the_approvals_that_were_given_and_gives_no_other(database: Database) -> None:
    task = started(database)
    for _ in range(2):
        a_settled(database, task, exit_code=1)

    task = a_running_task(database, approved(database, task, time_limit=HOUR))
    first = step(database, task)
    a_done_item(database, task)
    second = step(database, task)
    stopped = noticed(database, task)
    queued = approved(database, stopped, dismiss_all=True, reason="harmless", time_limit=HOUR)
    third = step(database, a_running_task(database, queued))

    assert (first, second, third) == ("P1 runs", "P2 asks", "P2 asks")


@pytest.mark.case("P10")
def test_a_plan_that_was_never_approved_is_asked_although_a_reviewer_set_a_time_limit(database: Database) -> None:
    task = noticed(database, a_task(database, plan=BOTH))

    queued = approved(database, task, dismiss_all=True, reason="harmless", time_limit=HOUR)

    assert queued.revision == 2
    assert step(database, a_running_task(database, queued)) == "plan asks"


@pytest.mark.case("P10")
def test_a_fix_a_reviewer_asked_for_runs_without_being_asked(database: Database) -> None:
    plan = a_plan(an_item("P1", approval=ApprovalMode.before), approval=ApprovalMode.before)
    task = started(database, plan)
    a_done_item(database, task)
    waiting = a_submitted_task(database, task)

    fixed = a_running_task(database, rejected(database, waiting, guidance="Differently."))

    assert step(database, fixed) == "F1 runs"


@pytest.mark.case("P10")
def test_an_approval_of_another_revision_covers_nothing(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(approval=ApprovalMode.before))

    with database.connection() as db:
        approvals.add(db, task=task.id, kind="plan", actor="rev", revision=task.revision + 1)

    assert step(database, task) == "plan asks"


def test_an_approval_says_by_whom_and_at_which_gate(database: Database, superuser_url: str) -> None:
    task = started(database)

    rows = asked(
        superuser_url,
        "SELECT approval.kind, actor, gate.kind, gate.state FROM approval JOIN gate ON gate.id = gate_id"
        " WHERE approval.task_id = %s ORDER BY approval.id",
        task.id,
    )

    assert rows == [("plan", "rev", "approval", "approved"), ("item", "rev", "approval", "approved")]
    assert an_attempt(database, task).item_id == "P1"
