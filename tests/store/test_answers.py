"""Answers: what a yes or a no does at each kind of gate, and that only one of two people gives it."""

from collections import Counter

import pytest

from statemachine.attempts import AttemptKind
from statemachine.gates import GateKind
from statemachine.plans import ApprovalMode, Item, ItemKind, Operation, OperationKind
from statemachine.refusals import LostRace, Refusal
from statemachine.steps import AwaitApproval, RunItem
from statemachine.tasks import TaskEvent, TaskState
from store import answers, approvals, gates, plans, tasks
from store.engine import Database
from store.tasks import Question, Task
from tests.factories import (
    a_done_item,
    a_plan,
    a_running_task,
    a_settled,
    a_submitted_task,
    a_task,
    a_task_at_gate,
    an_approved_task,
    an_attempt,
    an_item,
)
from tests.store.scenes import (
    DONE,
    HOUR,
    aged,
    approved,
    at_once,
    events,
    gate_id,
    gates_of,
    moves,
    rejected,
    said,
    seen,
    what_is_next,
)

S, G = TaskState, GateKind


@pytest.mark.case("C08")
@pytest.mark.parametrize("kind", [G.review, G.failure, G.scope, G.finding, G.approval])
def test_of_two_people_at_one_gate_one_decides_and_the_other_hears_a_stale_view(
    database: Database, superuser_url: str, kind: GateKind
) -> None:
    task = a_task_at_gate(database, kind)
    gate, before = gate_id(task), len(events(database, task))

    def decide(actor: str) -> answers.Answered:
        word = said(actor=actor, dismiss_all=kind is G.finding, amend=kind is G.scope, reason="r", guidance="Other.")
        with database.transaction() as db:
            return answers.approve(db, gate, word) if actor == "ann" else answers.reject(db, gate, word)

    said_so = at_once([lambda: decide("ann"), lambda: decide("bob")])

    refused = [each for each in said_so if isinstance(each, Refusal)]
    assert [(type(each), each.code) for each in refused] == [(LostRace, "stale_view")]
    assert Counter(state for _, state in gates_of(superuser_url, task)) in ({"approved": 1}, {"rejected": 1})
    assert len(events(database, task)) == before + 1


def test_a_gate_that_was_answered_is_a_stale_view(database: Database) -> None:
    task = a_task_at_gate(database, G.review)
    approved(database, task)

    with database.transaction() as db, pytest.raises(LostRace) as refused:
        answers.reject(db, gate_id(task), said())

    assert refused.value.code == "stale_view"
    assert refused.value.facts == {"state": "approved"}


@pytest.mark.case("A02")
@pytest.mark.parametrize("kind", list(GateKind))
def test_an_answer_to_what_somebody_saw_before_it_changed_is_a_stale_view(database: Database, kind: GateKind) -> None:
    task = a_task_at_gate(database, kind)

    with pytest.raises(LostRace) as refused:
        rejected(database, task, if_version=task.version - 1, cancel=True)

    assert refused.value.code == "stale_view"
    assert seen(database, task) == task


# ---------------------------------------------------------------- yes


@pytest.mark.parametrize("kind", [G.limit, G.failure])
def test_yes_at_a_limit_or_failure_gate_is_a_retry_with_what_was_granted(database: Database, kind: GateKind) -> None:
    task = a_task_at_gate(database, kind)

    queued = approved(database, task, budget=HOUR, retries=5, guidance="Again.", time_limit=HOUR, reason="go on")

    with database.connection() as db:
        item = plans.current(db, task=task.id, number=queued.revision).plan.items[0]
    line = moves(database, task)[-1]
    assert (queued.state, queued.budget, queued.retries, queued.guidance) == (S.queued, HOUR, 5, "Again.")
    assert (item.time_limit, queued.revision, queued.context) == (HOUR, 2, task.context + 1)
    assert (line.event, line.actor, line.reason) == ("retry", "rev", "go on")


@pytest.mark.case("A10")
def test_a_retry_without_budget_is_refused_unless_more_is_granted(database: Database, superuser_url: str) -> None:
    task = a_task_at_gate(database, G.limit, a_task(database, plan=a_plan(budget=HOUR)))
    aged(superuser_url, "UPDATE task SET spent = budget")

    with pytest.raises(Refusal) as refused:
        approved(database, task)
    with pytest.raises(Refusal) as not_enough:
        approved(database, task, budget=HOUR)
    queued = approved(database, task, budget=2 * HOUR)

    assert {refused.value.code, not_enough.value.code} == {"budget_spent"}
    assert (queued.state, queued.budget, queued.spent) == (S.queued, 2 * HOUR, HOUR)


@pytest.mark.case("X15")
def test_an_item_that_asks_waits_and_runs_once_it_was_approved(database: Database) -> None:
    plan = a_plan(an_item(approval=ApprovalMode.before))
    task = a_running_task(database, plan=plan)
    asking = what_is_next(database, task)

    question = Question(reason="item P1 asks", subjects=("item:P1",))
    with database.connection() as db:
        waiting = tasks.move(db, task, TaskEvent.await_approval, actor="w1", question=question, epoch=1)
    held = a_running_task(database, approved(database, waiting, reason="fine"))

    assert asking == AwaitApproval("P1")
    assert (waiting.state, waiting.lease_expires) == (S.needs_approval, None)
    assert what_is_next(database, held) == RunItem("P1", AttemptKind.execute)


def test_yes_to_a_suspected_fix_goes_on_with_that_base(database: Database) -> None:
    task = a_task_at_gate(database, G.fixed)

    queued = approved(database, task, reason="not the same bug")

    with database.connection() as db:
        row = db.execute("SELECT kind, base, actor FROM approval WHERE task_id = %s", (task.id,)).fetchone()
    assert row == {"kind": "fixed", "base": task.base, "actor": "rev"}
    assert (queued.state, events(database, task)[-1]) == (S.queued, "continue_anyway")


def test_yes_to_a_result_is_bound_to_head_base_and_target(database: Database) -> None:
    task = an_approved_task(database)

    with database.connection() as db:
        approval = approvals.latest_review(db, task.id)

    assert approval is not None
    assert (approval.head, approval.base, approval.target) == (task.head, task.base, task.target)
    assert (approval.actor, task.state, task.gate_id) == ("rev", S.approved, None)


@pytest.mark.case("M03")
def test_yes_to_a_head_that_is_no_longer_the_tasks_is_a_stale_view(database: Database, superuser_url: str) -> None:
    task = a_task_at_gate(database, G.review)
    aged(superuser_url, "UPDATE task SET head = repeat('d', 40)")

    with pytest.raises(LostRace) as refused:
        approved(database, task)

    assert refused.value.code == "stale_view"
    with database.connection() as db:
        assert approvals.latest_review(db, task.id) is None


# ---------------------------------------------------------------- no


@pytest.mark.parametrize("kind", [G.finding, G.limit, G.failure, G.approval, G.fixed])
def test_no_closes_the_task_where_nothing_can_be_sent_back(
    database: Database, superuser_url: str, kind: GateKind
) -> None:
    task = a_task_at_gate(database, kind)

    closed = rejected(database, task, reason="not worth it")

    line = moves(database, task)[-1]
    assert (closed.state, closed.gate_id) == (S.cancelled, None)
    assert gates_of(superuser_url, task) == [(kind, "rejected")]
    assert (line.event, line.actor, line.reason) == ("cancel", "rev", "not worth it")


def test_no_to_a_result_appends_a_fix_that_may_edit_what_was_declared(database: Database) -> None:
    items = (
        an_item("P1", path="src/a.py"),
        an_item("P2", operations=(Operation(kind=OperationKind.delete, path="gone.txt"), edit("docs/**"))),
        an_item("P3", operations=(Operation(kind=OperationKind.rename, path="new.py", renamed_from="old.py"),)),
    )
    task = reviewed(database, *items)

    queued = rejected(database, task, guidance="Keep the old name.", reason="no")

    with database.connection() as db:
        revision = plans.current(db, task=task.id, number=queued.revision)
        gate = gates.get(db, gate_id(task))
    fix = revision.plan.items[-1]
    assert (gate.state, gate.decided_by, gate.comment) == ("rejected", "rev", "no")
    assert (queued.state, queued.next_kind, queued.guidance) == (S.queued, "fix", "Keep the old name.")
    assert (revision.cause, revision.made_by, revision.plan.items[:-1]) == ("request_changes", "rev", items)
    assert (fix.id, fix.kind, fix.intent) == ("F1", ItemKind.fix, "Keep the old name.")
    assert fix.operations == (edit("src/a.py"), edit("docs/**"), edit("new.py"))
    assert what_is_next(database, a_running_task(database, queued)) == RunItem("F1", AttemptKind.fix)


def edit(path: str) -> Operation:
    return Operation(kind=OperationKind.edit, path=path)


def reviewed(database: Database, *items: Item) -> Task:
    """Walk a task of these items to its review."""
    task = a_running_task(database, plan=a_plan(*items))
    for item in items:
        a_done_item(database, task, item.id)
    return a_submitted_task(database, task)


def test_a_second_no_appends_a_second_fix(database: Database) -> None:
    task = rejected(database, a_task_at_gate(database, G.review), guidance="First.")
    held = a_running_task(database, task)
    fixed = a_settled(database, held, an_attempt(database, held, item="F1", kind=AttemptKind.fix), **DONE).task

    again = rejected(database, a_submitted_task(database, fixed), guidance="Second.")

    with database.connection() as db:
        items = plans.items(db, task.id)
    assert [(item.item_id, item.state) for item in items] == [("P1", "done"), ("F1", "done"), ("F2", "waiting")]
    assert again.head == fixed.head


def test_no_to_a_result_needs_a_word_about_what_should_change(database: Database) -> None:
    task = a_task_at_gate(database, G.review)

    with pytest.raises(Refusal) as refused:
        rejected(database, task)

    assert refused.value.code == "guidance_required"
    assert seen(database, task) == task


def test_changes_asked_before_anything_is_done_are_guidance_for_the_items_there_are(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    queued = approved(database, task, dismiss_all=True, reason="r", then="changes", guidance="Differently.")

    assert (queued.state, queued.revision, queued.guidance) == (S.queued, 1, "Differently.")
    assert events(database, task)[-1] == "request_changes"
    assert what_is_next(database, a_running_task(database, queued)) == RunItem("P1", AttemptKind.execute)


def test_changes_of_a_result_that_only_removed_files_are_refused_with_a_way_out(database: Database) -> None:
    task = reviewed(database, an_item(operations=(Operation(kind=OperationKind.delete, path="gone.txt"),)))

    with pytest.raises(Refusal) as refused:
        rejected(database, task, guidance="Bring it back.")

    assert refused.value.code == "nothing_to_change"
    assert seen(database, task) == task


def test_a_result_can_be_closed_instead_of_sent_back(database: Database) -> None:
    task = a_task_at_gate(database, G.review)

    closed = rejected(database, task, cancel=True, reason="never mind")

    assert (closed.state, closed.head) == (S.cancelled, task.head)
