"""Scope pauses: one transaction with the commit, and continued, discarded or withdrawn by a person alone."""

from dataclasses import replace
from typing import Any

import pytest

from statemachine.attempts import AttemptKind
from statemachine.gates import GateKind
from statemachine.pauses import PauseState
from statemachine.plans import ApprovalMode, Operation, OperationKind, Plan, PlanInvalid
from statemachine.refusals import LostRace, Refusal
from statemachine.settlement import Outcome
from statemachine.steps import RunChecks, RunItem
from statemachine.tasks import TaskState
from store import attempts, interventions, ledger, pauses, plans, publications, steps, tasks
from store.engine import Database
from store.pauses import Pause
from store.tasks import Task
from tests.factories import (
    a_done_item,
    a_plan,
    a_running_task,
    a_settled,
    a_submitted_task,
    a_task_at_gate,
    an_attempt,
    an_item,
)
from tests.store.scenes import (
    DONE,
    EXTRA,
    a_check_ended,
    aged,
    approved,
    cancel,
    decided,
    events,
    gates_of,
    noticed,
    owed,
    rejected,
    revised,
    said,
    seen,
    the_gate,
    what_is_next,
)

S = TaskState
TWO = a_plan(an_item("P1"), an_item("P2", path="docs/a.md"))
TREE = {"src/upload.py": "100644", "docs/a.md": "100644", "extra.txt": "100644"}


def paused(database: Database, plan: Plan = TWO, **report: Any) -> Task:
    """Walk a new task to the scope gate of its first item."""
    task = a_running_task(database, plan=plan)
    return a_settled(database, task, **{**DONE, "out_of_scope": EXTRA, "tree": "t" * 64, **report}).task


def latest(database: Database, task: Task) -> Pause:
    with database.connection() as db:
        pause = pauses.latest(db, task.id)
    assert pause is not None
    return pause


def with_extra(plan: Plan, *paths: str, item: str = "P1") -> Plan:
    """Let an item add more files."""
    more = tuple(Operation(kind=OperationKind.add, path=path) for path in paths)
    items = (replace(each, operations=(*each.operations, *more)) if each.id == item else each for each in plan.items)
    return replace(plan, items=tuple(items))


@pytest.mark.case("P01")
def test_an_undeclared_file_is_committed_and_pauses_the_task_before_its_next_item(database: Database) -> None:
    task = paused(database)

    pause = latest(database, task)

    with database.connection() as db:
        done = ledger.live(db, task.id)
    assert (task.state, task.owed_pauses, the_gate(database, task).kind) == (S.needs_amendment, 1, GateKind.scope)
    assert (pause.state, pause.item_id, pause.revision, pause.done) == ("open", "P1", 1, ["P1"])
    assert (pause.head, pause.tree, pause.out_of_scope) == (task.head, "t" * 64, list(EXTRA))
    assert [(entry.item_id, entry.commit, entry.attempt_id) for entry in done] == [("P1", task.head, pause.attempt_id)]


@pytest.mark.case("P02")
def test_a_pause_of_the_second_item_knows_both(database: Database) -> None:
    task = a_running_task(database, plan=TWO)
    a_done_item(database, task)

    second = a_settled(database, task, an_attempt(database, task, item="P2"), **DONE, out_of_scope=EXTRA)

    assert latest(database, second.task).done == ["P1", "P2"]


@pytest.mark.case("P04")
def test_looking_changes_nothing_and_the_pause_can_still_be_approved(database: Database) -> None:
    task = paused(database)
    with database.connection() as db:
        tasks.board(db)
        tasks.history(db, task.id)
        publications.of_task(db, task.id)

    looked_at = seen(database, task)
    queued = approved(database, task, amend=True, tree=TREE)

    assert looked_at == task
    assert queued.state is S.queued


@pytest.mark.case("P05")
def test_an_approval_without_a_revision_that_declares_the_paths_is_refused(database: Database) -> None:
    task = paused(database)

    with pytest.raises(Refusal) as refused:
        approved(database, task, tree=TREE)

    assert refused.value.code == "scope_not_amended"
    assert "extra.txt" in refused.value.message
    assert (seen(database, task), latest(database, task).state) == (task, "open")


@pytest.mark.case("P05")
def test_an_amendment_that_misses_one_path_is_refused(database: Database) -> None:
    two = (*EXTRA, {"operation": "delete", "path": "old.txt"})
    task = paused(database, out_of_scope=two)
    revised(database, task, with_extra(TWO, "extra.txt"))

    with pytest.raises(Refusal) as refused:
        approved(database, task, tree=TREE)

    assert refused.value.code == "scope_not_amended"
    assert "delete old.txt is not declared" in refused.value.message


@pytest.mark.case("P05")
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(with_extra(TWO, "extra.txt", "more.txt"), id="more than was seen"),
        pytest.param(replace(with_extra(TWO, "extra.txt"), items=(TWO.items[1],)), id="without the done item"),
        pytest.param(
            replace(TWO, items=(replace(with_extra(TWO, "extra.txt").items[0], intent="Other."), TWO.items[1])),
            id="other words of the done item",
        ),
    ],
)
def test_an_amendment_that_edits_the_done_item_is_refused(database: Database, plan: Plan) -> None:
    task = paused(database)
    revised(database, task, plan)

    with pytest.raises(Refusal) as refused:
        approved(database, task, tree=TREE)

    assert refused.value.code == "scope_not_amended"


@pytest.mark.case("P05")
def test_an_amendment_whose_rest_does_not_fit_the_tree_is_refused(database: Database) -> None:
    task = paused(database)

    with pytest.raises(PlanInvalid):
        approved(database, task, amend=True, tree={"src/upload.py": "100644", "extra.txt": "100644"})

    assert (seen(database, task), latest(database, task).state) == (task, "open")


@pytest.mark.case("P06")
def test_amend_adds_exactly_the_paths_seen_and_the_next_item_runs(database: Database) -> None:
    task = paused(database)

    queued = approved(database, task, amend=True, tree=TREE)

    with database.connection() as db:
        revision = plans.current(db, task=task.id, number=queued.revision)
        ran = attempts.listing(db, task.id)
    assert (queued.state, queued.revision, queued.context) == (S.queued, 2, task.context + 1)
    assert (revision.plan, revision.cause, revision.made_by) == (with_extra(TWO, "extra.txt"), "scope", "rev")
    assert (latest(database, task).state, latest(database, task).decided_by) == (PauseState.continued, "rev")
    assert what_is_next(database, a_running_task(database, queued)) == RunItem("P2", AttemptKind.execute)
    assert len(ran) == 1


@pytest.mark.case("P06")
def test_a_persons_own_revision_that_declares_the_paths_is_continued_without_another(database: Database) -> None:
    task = paused(database)
    amended = revised(database, task, with_extra(TWO, "extra.txt"))

    queued = approved(database, amended, tree=TREE)

    assert (queued.state, queued.revision, queued.context) == (S.queued, 2, amended.context)


@pytest.mark.case("P07")
def test_a_pause_of_the_last_item_goes_on_to_checks_and_review(database: Database) -> None:
    task = paused(database, a_plan(checks=("true",)), next_kind=AttemptKind.check)

    held = a_running_task(database, approved(database, task, amend=True, tree=TREE))
    due = what_is_next(database, held)
    check = an_attempt(database, held, item=None, kind=AttemptKind.check)
    a_check_ended(database, check, "true", 0)
    a_settled(database, held, check, outcome=Outcome.unchanged)
    submitted = a_submitted_task(database, held)

    assert due == RunChecks(("true",))
    assert (submitted.state, submitted.head) == (S.in_review, task.head)


@pytest.mark.case("P08")
def test_a_rejected_pause_takes_the_commit_back_under_a_named_ref(database: Database) -> None:
    task = paused(database)

    queued = rejected(database, task, reason="not asked for")

    with database.connection() as db:
        asked = publications.of_task(db, task.id)
        rows = ledger.listing(db, task.id)
    pause = latest(database, task)
    assert (queued.state, queued.head, queued.context) == (S.queued, task.base, task.context + 1)
    assert (pause.state, rows[0].state, rows[0].discarded_reason) == (
        PauseState.discarded,
        "discarded",
        "not asked for",
    )
    assert asked.discarded == {str(pause.attempt_id): task.head}
    assert (asked.head, asked.settled) == (task.base, [pause.attempt_id])
    assert what_is_next(database, a_running_task(database, queued)) == RunItem("P1", AttemptKind.execute)
    assert events(database, task)[-2:] == ["discard_item", "claim"]


def test_a_pause_that_is_cancelled_is_withdrawn(database: Database, superuser_url: str) -> None:
    by_command, at_the_gate = paused(database), paused(database)

    cancel(database, by_command)
    rejected(database, at_the_gate, cancel=True)

    assert {latest(database, task).state for task in (by_command, at_the_gate)} == {PauseState.withdrawn}
    assert gates_of(superuser_url, by_command) == [("scope", "withdrawn")]
    assert gates_of(superuser_url, at_the_gate) == [("scope", "rejected")]
    assert seen(database, by_command).owed_pauses == 0


@pytest.mark.case("P09")
def test_a_finding_on_a_paused_task_is_decided_first_and_the_pause_again_after_it(
    database: Database, superuser_url: str
) -> None:
    task = paused(database)
    stopped = noticed(database, task)

    resumed = approved(database, stopped, dismiss_all=True, reason="harmless")
    queued = approved(database, resumed, amend=True, tree=TREE)

    assert (stopped.state, stopped.owed_pauses) == (S.needs_human, 1)
    assert (resumed.state, events(database, task)[-2]) == (S.needs_amendment, "resume_pause")
    assert gates_of(superuser_url, task) == [
        *(("scope", "superseded"), ("finding", "approved"), ("scope", "approved")),
    ]
    assert (queued.state, latest(database, task).state) == (S.queued, PauseState.continued)


@pytest.mark.case("P09", "M02")
def test_nothing_lets_a_paused_task_that_owes_a_finding_pass(database: Database) -> None:
    task = noticed(database, paused(database))

    with database.transaction() as db, pytest.raises(Refusal) as first:
        interventions.retry(db, task.id, said())
    decided(database, owed(database, task)[0])
    with database.transaction() as db, pytest.raises(Refusal) as second:
        interventions.retry(db, task.id, said())

    assert (first.value.code, second.value.code) == ("finding_owed", "pause_owed")


def test_a_head_that_moved_since_the_pause_is_a_stale_view(database: Database, superuser_url: str) -> None:
    task = paused(database)
    aged(superuser_url, "UPDATE task SET head = repeat('d', 40)")

    for answer in (approved, rejected):
        with pytest.raises(LostRace) as refused:
            answer(database, task, amend=True)
        assert refused.value.code == "stale_view"


def test_a_path_that_is_no_text_is_kept_escaped_and_no_plan_can_declare_it(database: Database) -> None:
    odd = ({"operation": "add", "path": "caf\udce9.txt"},)
    task = paused(database, out_of_scope=odd)

    with pytest.raises(PlanInvalid) as refused:
        approved(database, task, amend=True, tree=TREE)
    queued = rejected(database, task, reason="a broken name")

    pause = latest(database, task)
    assert pause.out_of_scope == [{"operation": "add", "path": "caf\\xe9.txt", "bytes": b"caf\xe9.txt".hex()}]
    assert pauses.seen_paths(pause) == [(OperationKind.add, "caf\udce9.txt")]
    assert "no plan can declare the path" in refused.value.message
    assert queued.state is S.queued


def test_an_amendment_covers_no_item_that_was_never_asked(database: Database) -> None:
    asking = a_plan(an_item("P1"), an_item("P2", path="docs/a.md", approval=ApprovalMode.before))
    task = paused(database, asking)

    held = a_running_task(database, approved(database, task, amend=True, tree=TREE))

    with database.connection() as db:
        facts = steps.facts(db, task=task.id, epoch=held.lease_epoch)
    assert facts.item is not None
    assert (facts.item.id, facts.item.asks) == ("P2", True)


def test_a_plan_that_was_asked_for_stays_covered_by_the_amendment(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.approval)
    started = a_running_task(database, approved(database, task))
    pause = a_settled(database, started, **DONE, out_of_scope=EXTRA).task

    held = a_running_task(database, approved(database, pause, amend=True, tree=TREE))

    with database.connection() as db:
        assert not steps.facts(db, task=task.id, epoch=held.lease_epoch).plan_asks
