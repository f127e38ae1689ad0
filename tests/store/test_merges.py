"""Merges: written down before the push, at most one at a time, and ended once."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest

from statemachine.findings import FindingState
from statemachine.gates import GateKind
from statemachine.merges import MergeState
from statemachine.refusals import LostRace, Refusal
from statemachine.tasks import TaskEvent, TaskState
from store import findings, merges, recoveries, tasks
from store.engine import Connection, Database
from store.merges import Merge
from store.tasks import Task
from tests.factories import LEASE, a_merging_task, a_task_at_gate, an_approved_task
from tests.store.scenes import aged, at_once, events, gates_of, moves, noticed, owed, seen, the_gate

S, E = TaskState, TaskEvent


def begin(db: Connection, task: Task, *, tip: str | None = None) -> Merge:
    tasks.move(db, tasks.lock(db, task.id), E.begin_merge, actor="rev")
    plan = merges.Plan(strategy="ff", target="/nowhere", branch="main", old_tip=tip, head=task.head, commit=task.head)
    return merges.begin(db, merge=uuid4(), task=task.id, plan=plan, actor="rev", host="h", lease=LEASE)


def in_transaction(database: Database, act: Callable[[Connection], Merge]) -> Merge:
    with database.transaction() as db:
        return act(db)


def the_merge(database: Database, task: Task) -> Merge:
    with database.connection() as db:
        return merges.listing(db, task.id)[-1]


def ended(database: Database, task: Task, event: TaskEvent, state: MergeState, reason: str = "") -> Task:
    with database.transaction() as db:
        moved = tasks.move(db, tasks.lock(db, task.id), event, actor="rev", reason=reason)
        merges.end(db, the_merge(database, task).id, state, reason=reason)
        return moved


def test_a_merge_is_written_down_with_its_own_lease(database: Database) -> None:
    task = an_approved_task(database)

    merge = in_transaction(database, partial(begin, task=task, tip="d" * 40))

    with database.connection() as db:
        assert merges.live(db, task.id) == merge
    assert (merge.state, merge.head, merge.commit, merge.old_tip) == ("submitting", task.head, task.head, "d" * 40)
    assert (merge.pushing_at, merge.lease_expires > merge.begun_at) == (None, True)
    assert seen(database, task).state is S.merging


@pytest.mark.case("M09")
def test_two_merges_at_once_are_one_row(database: Database) -> None:
    task = an_approved_task(database)

    begun = at_once([partial(in_transaction, database, partial(begin, task=task))] * 2)

    refused = [each for each in begun if isinstance(each, Refusal)]
    assert [each.code for each in refused] == ["merge_in_flight"]
    with database.connection() as db:
        assert len(merges.listing(db, task.id)) == 1


@pytest.mark.case("M09")
def test_a_second_row_of_a_merge_in_flight_is_refused_by_name(database: Database) -> None:
    task = a_merging_task(database)
    plan = merges.Plan(strategy="ff", target="/t", branch="main", old_tip=None, head=task.head, commit=task.head)

    with database.connection() as db, pytest.raises(LostRace) as refused:
        merges.begin(db, merge=uuid4(), task=task.id, plan=plan, actor="rev", host="h", lease=LEASE)

    assert refused.value.code == "merge_in_flight"


@pytest.mark.case("M02")
@pytest.mark.parametrize("kind", [GateKind.finding, GateKind.scope])
def test_what_is_owed_is_never_merged(database: Database, kind: GateKind) -> None:
    task = a_task_at_gate(database, kind)

    with pytest.raises(Refusal) as refused:
        in_transaction(database, partial(begin, task=task))

    assert refused.value.code == "not_mergeable"
    assert seen(database, task) == task


def test_a_push_is_marked_once_and_an_ended_merge_never(database: Database) -> None:
    task = a_merging_task(database)
    merge = the_merge(database, task)

    with database.connection() as db:
        marked = merges.mark_pushing(db, merge.id)
        with pytest.raises(LostRace) as twice:
            merges.mark_pushing(db, merge.id)
    ended(database, task, E.fail_merge, MergeState.failed, "the hook said no")
    with database.connection() as db, pytest.raises(LostRace) as late:
        merges.end(db, merge.id, MergeState.merged, reason="")

    assert marked.pushing_at is not None
    assert {twice.value.code, late.value.code} == {"conflict"}
    assert (the_merge(database, task).state, the_merge(database, task).reason) == ("failed", "the hook said no")


@pytest.mark.case("M06")
def test_a_failed_merge_keeps_its_approval_and_can_begin_again(database: Database) -> None:
    task = a_merging_task(database)
    blocked = ended(database, task, E.fail_merge, MergeState.failed, "the hook said no")

    in_transaction(database, partial(begin, task=blocked))
    merged = ended(database, task, E.confirm_merge, MergeState.merged)

    assert (blocked.state, merged.state) == (S.merge_blocked, S.merged)
    assert moves(database, task)[-3].reason == "the hook said no"
    with database.connection() as db:
        assert [merge.state for merge in merges.listing(db, task.id)] == ["failed", "merged"]


@pytest.mark.case("F15", "M02")
def test_a_merge_that_failed_while_a_finding_was_owed_ends_at_a_finding_gate(
    database: Database, superuser_url: str
) -> None:
    task = a_merging_task(database)
    noticed(database, task)

    stopped = ended(database, task, E.fail_merge, MergeState.failed, "a finding is owed")

    assert (stopped.state, stopped.owed_findings) == (S.needs_human, 1)
    assert gates_of(superuser_url, task)[-1] == (GateKind.finding, "open")
    assert the_gate(database, task).reason == "a finding is owed"


@pytest.mark.case("F15", "F20")
def test_a_merge_that_was_applied_is_merged_whatever_is_owed_and_the_finding_can_be_decided(
    database: Database,
) -> None:
    task = a_merging_task(database)
    noticed(database, task)

    merged = ended(database, task, E.confirm_merge, MergeState.merged)
    with database.transaction() as db:
        findings.decide(db, owed(database, task)[0].id, state=FindingState.accepted, actor="rev", reason="too late")

    assert (merged.state, merged.owed_findings, seen(database, task).owed_findings) == (S.merged, 1, 0)


@pytest.mark.case("M13")
def test_a_target_that_holds_the_result_is_confirmed_without_a_merge(database: Database) -> None:
    task = an_approved_task(database)

    with database.transaction() as db:
        merged = tasks.move(db, task, E.confirm_merge, actor="rev", reason="the target already holds it")

    assert (merged.state, events(database, task)[-1]) == (S.merged, "confirm_merge")
    with database.connection() as db:
        assert merges.listing(db, task.id) == []


@pytest.mark.case("M12")
def test_a_merge_is_left_alone_until_its_lease_is_over(database: Database, superuser_url: str) -> None:
    task = a_merging_task(database)

    with database.connection() as db:
        before = recoveries.overdue_merges(db)
    aged(superuser_url, "UPDATE merge_attempt SET lease_expires = now() - interval '1 second'")
    with database.connection() as db:
        after = recoveries.overdue_merges(db)

    assert before == []
    assert [merge.task_id for merge in after] == [task.id]
