"""Tasks: added whole, moved from where they are believed to be, and a history that says who, what and why."""

from uuid import uuid4

import pytest

from statemachine.attempts import AttemptKind, StopReason
from statemachine.gates import GateKind
from statemachine.merges import MergeState
from statemachine.refusals import LostRace, NotFound, Refusal
from statemachine.steps import Halt
from statemachine.tasks import MERGEABLE, TaskEvent, TaskState
from store import answers, attempts, interventions, merges, plans, tasks
from store.engine import Database
from store.tasks import Change, Question, Task
from tests.factories import (
    a_done_item,
    a_merging_task,
    a_plan,
    a_registered_repository,
    a_running_task,
    a_task,
    a_task_at_gate,
    an_approved_task,
    an_item,
)
from tests.store.scenes import (
    HOUR,
    change_policy,
    events,
    in_turn,
    moves,
    revised,
    said,
    seen,
    stop,
    the_gate,
    what_is_next,
)

S, E = TaskState, TaskEvent


def test_a_task_is_added_with_its_plan_its_items_and_its_first_line(database: Database) -> None:
    plan = a_plan(an_item("P1"), an_item("P2", path="docs/a.md"), budget=HOUR)

    task = a_task(database, plan=plan)

    with database.connection() as db:
        revision, items = plans.current(db, task=task.id, number=1), plans.items(db, task.id)
    assert (task.state, task.head, task.base, task.budget, task.version) == (S.queued, task.base, "b" * 40, HOUR, 1)
    assert (revision.plan, revision.cause, revision.made_by) == (plan, "add", "ann")
    assert [(item.item_id, item.state) for item in items] == [("P1", "waiting"), ("P2", "waiting")]
    assert [(line.event, line.source, line.dest, line.actor) for line in moves(database, task)] == [
        ("add", "", "queued", "ann")
    ]


def test_a_task_that_cannot_be_added_leaves_nothing(database: Database) -> None:
    with database.connection() as db, pytest.raises(Refusal) as refused:
        tasks.add(db, repository=404, plan=a_plan(), base="b" * 40, target="main", executor="local", actor="ann")

    with database.connection() as db:
        assert (refused.value.code, tasks.board(db)) == ("unknown_reference", [])


def test_what_is_not_there_is_not_found(database: Database) -> None:
    with database.connection() as db:
        for read in (tasks.get, tasks.history, tasks.touch):
            with pytest.raises(NotFound):
                read(db, 404)


@pytest.mark.case("A02")
def test_an_old_version_is_a_stale_view_and_writes_nothing(database: Database) -> None:
    task = a_running_task(database)
    old = task.version - 1

    with database.transaction() as db, pytest.raises(LostRace) as refused:
        interventions.stop(db, task.id, actor="ann", if_version=old)
    with database.transaction() as db, pytest.raises(LostRace) as again:
        interventions.cancel(db, task.id, actor="ann", reason="", if_version=old)

    assert {refused.value.code, again.value.code} == {"stale_view"}
    assert refused.value.facts == {"version": task.version}
    assert seen(database, task) == task


@pytest.mark.case("A02")
def test_a_retry_or_an_answer_with_an_old_version_is_a_stale_view(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.failure)
    word = said(if_version=task.version - 1)

    with database.transaction() as db, pytest.raises(LostRace) as refused:
        interventions.retry(db, task.id, word)

    assert refused.value.code == "stale_view"
    assert seen(database, task) == task


def test_a_move_believes_a_version_and_the_second_of_two_loses(database: Database) -> None:
    task = a_running_task(database)

    moved = in_turn(
        database,
        lambda db: tasks.move(db, task, E.halt, actor="w1"),
        lambda db: tasks.move(db, task, E.release, actor="w2"),
    )

    assert isinstance(moved, LostRace)
    assert moved.code == "stale_view"
    assert events(database, task) == ["add", "claim", "halt"]


def test_an_edge_the_table_does_not_have_is_refused_before_the_database_is_asked(database: Database) -> None:
    task = a_task(database)

    with database.connection() as db, pytest.raises(Refusal) as refused:
        tasks.move(db, task, E.approve, actor="rev")

    assert refused.value.code == "not_at_gate"
    assert seen(database, task) == task


def test_a_policy_that_moved_refuses_a_move_that_is_bound_to_it(database: Database) -> None:
    task = a_running_task(database)
    change_policy(database, task)

    with database.connection() as db, pytest.raises(LostRace):
        tasks.move(db, task, E.settle, actor="w", epoch=1, policy=1)

    assert seen(database, task) == task


@pytest.mark.case("A11")
def test_only_what_an_attempt_depends_on_moves_the_context(database: Database) -> None:
    task = a_task(database, plan=a_plan(an_item("P1"), an_item("P2")))
    held = a_running_task(database, task)
    stop(database, held, StopReason.user, "rev")
    with database.connection() as db:
        halted = tasks.move(db, seen(database, held), E.halt, actor="w", epoch=1)
    with database.transaction() as db:
        queued = interventions.retry(db, task.id, said())
    lifecycle = (task.context, halted.context, queued.context)
    held = a_running_task(database, queued)
    committed = a_done_item(database, held)
    replanned = revised(database, committed, a_plan(an_item("P1"), an_item("P2", intent="Other.")))
    change_policy(database, task)

    after = seen(database, task)

    assert lifecycle == (1, 1, 1)
    assert (committed.context, replanned.context, after.context) == (2, 3, 3)
    assert task.version < halted.version < queued.version < held.version < committed.version < replanned.version


@pytest.mark.case("A11", "M03")
@pytest.mark.parametrize(
    "change", [Change(context=1, base="c" * 40), Change(context=1, target="next"), Change(context=1, head="d" * 40)]
)
def test_a_new_base_target_or_head_lapses_the_approval_in_the_same_move(database: Database, change: Change) -> None:
    task = an_approved_task(database)

    with database.transaction() as db:
        lapsed = tasks.move(db, task, E.lapse_approval, actor="rev", change=change, reason="it moved")

    assert (lapsed.state, lapsed.context, lapsed.version) == (S.in_review, task.context + 1, task.version + 1)
    assert (the_gate(database, task).kind, the_gate(database, task).head) == (GateKind.review, lapsed.head)


@pytest.mark.case("X08")
def test_the_next_item_does_not_start_from_what_was_read_before_the_plan_moved(database: Database) -> None:
    plan = a_plan(an_item("P1"), an_item("P2"))
    held = a_done_item(database, a_running_task(database, plan=plan))
    revised(database, held, a_plan(an_item("P1"), an_item("P2", intent="Other.")))

    with database.connection() as db, pytest.raises(Refusal) as refused:
        attempts.admit(db, held, attempt=uuid4(), kind=AttemptKind.execute, item="P2")

    assert refused.value.code == "not_admitted"
    assert f"task {held.id} changed" in refused.value.message


# ---------------------------------------------------------------- history


def test_a_line_says_who_asked_for_the_stop_it_answers(database: Database) -> None:
    task = a_running_task(database)
    stopped = stop(database, task, StopReason.user, "rev")
    assert stopped is not None

    with database.connection() as db:
        tasks.move(db, stopped, E.halt, actor="w1", question=Question(reason="stopped between items"), epoch=1)

    line = moves(database, task)[-1]
    assert (line.event, line.actor, line.reason) == ("halt", "w1", "stopped between items, asked by rev")
    assert the_gate(database, task).reason == "stopped between items"


def test_a_cancellation_of_a_running_task_keeps_who_and_why_until_it_closes(database: Database) -> None:
    task = a_running_task(database)
    stop(database, task, StopReason.user, "rev")
    with database.transaction() as db:
        asked = interventions.cancel(db, task.id, actor="ann", reason="wrong\nbranch")

    with database.connection() as db:
        closed = tasks.move(db, asked, E.cancel, actor="w1", reason="cancelled by a person", epoch=1)

    assert (closed.state, closed.cancel_requested) == (S.cancelled, True)
    assert moves(database, task)[-1].reason == "cancelled by a person, asked by ann: wrong branch"


def test_a_worker_that_stopped_by_itself_is_not_named_twice(database: Database) -> None:
    task = a_running_task(database)
    stopped = stop(database, task, StopReason.time_limit, "w1")
    assert stopped is not None

    with database.connection() as db:
        tasks.move(db, stopped, E.hit_limit, actor="w1", reason="the budget is spent", epoch=1)

    assert moves(database, task)[-1].reason == "the budget is spent"


def test_history_is_in_the_order_the_row_moved_however_long_somebody_waited(database: Database) -> None:
    task = a_task(database)

    with database.transaction() as slow:
        slow.execute("SELECT 1")
        other = a_running_task(database, task)
        tasks.move(slow, other, E.release, actor="w", epoch=1)

    assert [(line.event, line.source) for line in moves(database, task)] == [
        ("add", ""),
        ("claim", "queued"),
        ("release", "running"),
    ]


def test_decisions_ends_and_revisions_have_their_line(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.finding)
    revised(database, task, a_plan(an_item(intent="Other.")))
    with database.transaction() as db:
        assert task.gate_id is not None
        answers.approve(db, task.gate_id, said(dismiss_all=True, reason="harmless"))

    with database.connection() as db:
        lines = tasks.history(db, task.id)

    shown = [(line.event, line.actor, line.reason) for line in lines]
    assert [event for event, _, _ in shown if event != "attempt_failed"] == [
        *("add", "claim", "raise_finding", "plan_revision", "finding_dismissed", "gate_approved", "retry"),
    ]
    assert ("attempt_failed", "attempt", "") in shown
    assert ("finding_dismissed", "rev", "harmless") in shown
    assert ("plan_revision", "ann", "revision 2 (amend)") in shown


# ---------------------------------------------------------------- boards


def test_a_board_goes_back_page_by_page(database: Database) -> None:
    repository = a_registered_repository(database)
    mine = [a_task(database, repository=repository) for _ in range(3)]
    a_running_task(database)

    with database.connection() as db:
        first = tasks.board(db, repository=repository.id, limit=2)
        second = tasks.board(db, repository=repository.id, before=first[-1].id, limit=2)
        running = tasks.board(db, state=S.running)

    assert [task.id for task in (*first, *second)] == [task.id for task in reversed(mine)]
    assert [task.state for task in running] == [S.running]


# ---------------------------------------------------------------- merging


@pytest.mark.case("M01")
@pytest.mark.parametrize("state", sorted(frozenset(S) - MERGEABLE))
def test_no_merge_begins_anywhere_but_where_it_was_approved(database: Database, state: TaskState) -> None:
    task = resting(database, state)

    with database.connection() as db, pytest.raises(Refusal) as refused:
        tasks.move(db, task, E.begin_merge, actor="rev")

    assert task.state is state
    assert refused.value.code == ("merge_in_flight" if state is S.merging else "not_mergeable")
    with database.connection() as db:
        assert len(merges.listing(db, task.id)) == int(state in {S.merging, S.merged})


def resting(database: Database, state: TaskState) -> Task:
    """Walk a task to any state that is not mergeable."""
    gates = {
        S.needs_human: GateKind.failure,
        S.needs_amendment: GateKind.scope,
        S.needs_approval: GateKind.approval,
        S.possibly_fixed: GateKind.fixed,
        S.in_review: GateKind.review,
    }
    if state in gates:
        return a_task_at_gate(database, gates[state])
    match state:
        case S.queued:
            return a_task(database)
        case S.running:
            return a_running_task(database)
        case S.cancelled:
            with database.transaction() as db:
                return interventions.cancel(db, a_task(database).id, actor="ann", reason="")
        case S.merging:
            return a_merging_task(database)
        case _:
            return merged(database, a_merging_task(database))


def merged(database: Database, task: Task) -> Task:
    with database.transaction() as db:
        done = tasks.move(db, tasks.lock(db, task.id), E.confirm_merge, actor="rev")
        live = merges.live(db, task.id)
        assert live is not None
        merges.end(db, live.id, MergeState.merged, reason="")
        return done


def test_a_stop_between_items_is_the_next_step(database: Database) -> None:
    task = a_running_task(database)

    stop(database, task, StopReason.user, "rev")

    assert what_is_next(database, task) == Halt()
