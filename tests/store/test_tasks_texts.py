"""Text from outside reaches every column cleaned and bounded; a name is refused instead, because it may not change."""

from collections.abc import Callable

import pytest

from statemachine.allocations import AllocationState
from statemachine.attempts import StopReason
from statemachine.findings import FindingKind
from statemachine.gates import GateKind
from statemachine.merges import MergeState
from statemachine.plans import item_digest
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent
from store import allocations, attempts, claims, ledger, merges, plans, tasks
from store.engine import Database
from store.findings import NewFinding
from store.tasks import Question, Task
from tests.factories import (
    LEASE,
    a_done_item,
    a_merging_task,
    a_plan,
    a_running_task,
    a_settled,
    a_task,
    a_task_at_gate,
    a_worker,
    an_attempt,
    an_item,
)
from tests.store.scenes import ODD, approved, asked, cancel, noticed, rejected, revised, stop

Act = Callable[[Database], Task]


def added(database: Database) -> Task:
    return a_task(database, plan=a_plan(an_item(intent=ODD), title=ODD))


def moved(database: Database) -> Task:
    task = a_running_task(database)
    with database.connection() as db:
        return tasks.move(db, task, TaskEvent.halt, actor="w", reason=ODD, question=Question(reason=ODD), epoch=1)


def failed(database: Database) -> Task:
    return a_settled(database, a_running_task(database), exit_code=1, failure=ODD, evidence={ODD: [ODD]}).task


def found(database: Database) -> Task:
    seen = NewFinding.seen(FindingKind.manual, ODD, item="P1", evidence={"said": [ODD, {ODD: ODD}]})
    return a_settled(database, a_running_task(database), findings=(seen,)).task


def recorded(database: Database) -> Task:
    return noticed(database, a_task(database), ODD)


def answered(database: Database) -> Task:
    task = a_task_at_gate(database, GateKind.finding)
    return approved(database, task, dismiss_all=True, reason=ODD, guidance=ODD)


def sent_back(database: Database) -> Task:
    return rejected(database, a_task_at_gate(database, GateKind.review), reason=ODD, guidance=ODD)


def closed(database: Database) -> Task:
    return cancel(database, a_task_at_gate(database, GateKind.review), ODD)


def cancelled(database: Database) -> Task:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    cancel(database, task, ODD)
    return a_settled(database, task, attempt).task


def discarded(database: Database) -> Task:
    task = a_done_item(database, a_running_task(database))
    with database.connection() as db:
        ledger.discard(db, task=task.id, first=0, actor="rev", reason=ODD)
    return task


def taken_over(database: Database) -> Task:
    task, worker = a_running_task(database), a_worker(database)
    with database.connection() as db:
        claims.take_over(
            db, task=task.id, epoch=1, worker=worker.id, actor="r", lease=LEASE, proven_dead=True, reason=ODD
        )
    return task


def put_aside(database: Database) -> Task:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    with database.connection() as db:
        attempts.note_handle(db, attempt, {"command": ODD})
        allocations.end(db, allocations.live(db, task.id)[0], AllocationState.quarantined, reason=ODD)
    return task


def blocked(database: Database) -> Task:
    task = a_merging_task(database)
    with database.transaction() as db:
        merge = merges.live(db, task.id)
        assert merge is not None
        tasks.move(db, task, TaskEvent.fail_merge, actor="rev", reason=ODD)
        merges.end(db, merge.id, MergeState.failed, reason=ODD)
    return task


WHERE = {
    "the title of a task": (added, "SELECT title FROM task"),
    "the plan of a task": (added, "SELECT document #>> '{items,0,intent}' FROM plan_revision"),
    "the reason of a move": (moved, "SELECT reason FROM task_event WHERE event = 'halt'"),
    "the reason of a gate": (moved, "SELECT reason FROM gate"),
    "what an attempt failed of": (failed, "SELECT failure FROM attempt"),
    "the evidence of an attempt": (failed, "SELECT jsonb_object_keys(evidence) FROM attempt"),
    "a finding": (found, "SELECT summary FROM finding"),
    "the evidence of a finding": (found, "SELECT evidence #>> '{said,0}' FROM finding"),
    "the gate of a finding": (found, "SELECT reason FROM gate"),
    "a person's finding": (recorded, "SELECT summary FROM finding"),
    "the line of a person's finding": (recorded, "SELECT reason FROM task_event WHERE event = 'raise_finding'"),
    "a decision": (answered, "SELECT reason FROM finding"),
    "a comment at a gate": (answered, "SELECT comment FROM gate"),
    "guidance": (answered, "SELECT guidance FROM task"),
    "the intent of a fix": (sent_back, "SELECT document #>> '{items,1,intent}' FROM plan_revision WHERE number = 2"),
    "why a task was closed": (closed, "SELECT reason FROM task_event WHERE event = 'cancel'"),
    "why work was taken back": (discarded, "SELECT discarded_reason FROM commit_ledger"),
    "why a lease was taken over": (taken_over, "SELECT reason FROM task_event WHERE event = 'take_over'"),
    "why a workspace was put aside": (put_aside, "SELECT reason FROM allocation"),
    "a handle": (put_aside, "SELECT handle ->> 'command' FROM attempt"),
    "why a merge failed": (blocked, "SELECT reason FROM merge_attempt"),
}


@pytest.mark.case("F10")
@pytest.mark.parametrize("what", WHERE)
def test_text_from_outside_is_cleaned_on_its_way_to_every_column(
    database: Database, superuser_url: str, what: str
) -> None:
    act, query = WHERE[what]

    act(database)

    stored = str(asked(superuser_url, query)[0][0])
    assert stored.startswith("a\ufffdb\ufffdcxxx")
    assert stored.endswith("[10005 characters, 2 replaced]")


def test_why_a_running_task_was_cancelled_is_one_line_that_moves_no_terminal(
    database: Database, superuser_url: str
) -> None:
    task = cancelled(database)

    reason = asked(superuser_url, "SELECT reason FROM task_event WHERE event = 'cancel'")[0][0]

    assert task.state == "cancelled"
    assert reason.startswith("user, asked by rev: a\\u0000b\\ud800c")


def test_guidance_is_read_back_from_a_plan_that_still_loads(database: Database) -> None:
    task = sent_back(database)

    with database.connection() as db:
        plan = plans.current(db, task=task.id, number=task.revision).plan
        items = plans.items(db, task.id)

    assert plan.items[-1].intent == task.guidance
    assert [item.digest for item in items] == [item_digest(item) for item in plan.items]


@pytest.mark.parametrize("name", ["a\x00", "a\ud800"])
def test_a_name_that_cannot_be_stored_is_refused_and_not_changed(database: Database, name: str) -> None:
    task = a_running_task(database)

    with pytest.raises(Refusal) as refused:
        stop(database, task, StopReason.user, name)

    assert refused.value.code == "bad_text"
    assert revised(database, task, a_plan()).stop_by is None
