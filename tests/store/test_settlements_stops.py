"""Stops, limits, shutdowns and late results: what an attempt comes to, and that its task hears the right one."""

from uuid import UUID

import pytest

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.refusals import LostRace, Refusal
from statemachine.settlement import Isolation, Outcome
from statemachine.steps import RunItem
from statemachine.tasks import TaskEvent, TaskState
from store import allocations, attempts, claims, interventions, ledger, pauses, settlements
from store.attempts import Attempt
from store.engine import Database
from store.settlements import Report
from store.tasks import Task
from tests.factories import a_plan, a_running_task, a_settled, an_attempt, an_item
from tests.store.scenes import (
    DONE,
    EXTRA,
    HOUR,
    LOST,
    UNSAFE,
    aged,
    cancel,
    events,
    isolation_failed,
    moves,
    owed,
    revised,
    seen,
    stop,
    the_attempt,
    the_gate,
    what_is_next,
)

A, E, S = AttemptState, TaskEvent, TaskState
OTHER = a_plan(an_item(intent="Something else."))


@pytest.mark.case("S01", "S18")
def test_a_stop_before_a_shutdown_keeps_the_persons_reason_and_name(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    stop(database, task, StopReason.user, "rev")
    stop(database, task, StopReason.shutdown)

    settled = a_settled(database, task, attempt, draining=True)

    with database.connection() as db:
        assert attempts.get_attempt(db, attempt.id).first_reason is StopReason.user
    assert settled.event is E.halt
    assert moves(database, task)[-1].reason == "user, asked by rev"


@pytest.mark.case("S02")
def test_a_stopped_pending_attempt_is_never_launched_and_ends_cancelled(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task, launched=False)
    stop(database, task, StopReason.user, "rev")

    with pytest.raises(Refusal) as refused:
        launch_in_a_ready_place(database, attempt)
    settled = a_settled(database, task, attempt, exit_code=None)

    assert refused.value.code == "not_launched"
    assert settled.attempt_state is A.cancelled


def launch_in_a_ready_place(database: Database, attempt: Attempt) -> None:
    with database.transaction() as db:
        place = allocations.reserve(db, attempt, allocation=UUID(int=7), host="h")
        ready = allocations.ready(db, place, epoch=attempt.epoch, path="/nowhere", base=attempt.base, baseline="{}")
        attempts.launch(db, attempt, allocation=ready.id, generation=ready.generation, links_digest=None)


@pytest.mark.case("S03")
def test_a_stopped_agent_that_exits_3_is_cancelled_with_its_exit_code(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    stop(database, task, StopReason.user, "rev")

    a_settled(database, task, attempt, exit_code=3)

    ended = the_attempt(database, attempt)
    assert (ended.state, ended.first_reason, ended.exit_code) == (A.cancelled, StopReason.user, 3)


@pytest.mark.case("S04")
def test_an_agent_that_times_out_under_an_old_revision_is_stale_and_costs_no_retry(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    revised(database, task, OTHER)
    isolation_failed(database, attempt)

    settled = a_settled(database, task, attempt, isolation=Isolation.timeout, exit_code=None)

    assert (settled.attempt_state, settled.task.failures) == (A.stale, 0)


@pytest.mark.case("S05")
@pytest.mark.parametrize(("retries", "event"), [(1, E.release), (0, E.give_up)])
def test_a_timeout_before_a_shutdown_uses_a_retry(database: Database, retries: int, event: TaskEvent) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=retries)))
    attempt = an_attempt(database, task)
    isolation_failed(database, attempt)
    stop(database, task, StopReason.shutdown)

    settled = a_settled(database, task, attempt, draining=True, isolation=Isolation.timeout)

    assert (settled.attempt_state, settled.event, settled.task.failures) == (A.failed, event, 1)


@pytest.mark.case("S06")
def test_a_pending_attempt_has_no_result_and_nothing_is_written(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task, launched=False)
    before = seen(database, task)

    with pytest.raises(Refusal) as refused:
        a_settled(database, task, attempt, **DONE)

    assert refused.value.code == "attempt_not_started"
    assert seen(database, task) == before


@pytest.mark.case("S07")
def test_a_result_over_1_mib_fails_and_records_nothing(database: Database) -> None:
    task = a_running_task(database)

    settled = a_settled(database, task, **DONE, oversized=True)

    with database.connection() as db:
        assert ledger.listing(db, task.id) == []
    assert (settled.attempt_state, settled.word, settled.task.head) == (A.failed, "result_too_large", task.base)


@pytest.mark.case("S08")
def test_an_old_attempt_that_settles_after_its_retry_began_changes_nothing(database: Database) -> None:
    task = a_running_task(database)
    old = an_attempt(database, task)
    a_settled(database, task, old, exit_code=3)
    retried = an_attempt(database, task)
    before = seen(database, task)

    with pytest.raises(Refusal) as refused:
        a_settled(database, task, old, **DONE)

    assert refused.value.code == "attempt_ended"
    assert seen(database, task) == before
    with database.connection() as db:
        assert attempts.active(db, task.id) == retried


@pytest.mark.case("S08")
def test_a_belief_from_before_the_retry_began_is_a_stale_view(database: Database) -> None:
    task = a_running_task(database)
    old = an_attempt(database, task)
    report = Report(task=task.id, epoch=old.epoch, attempt=old.id, exit_code=0, outcome=Outcome.unchanged)
    with database.connection() as db:
        believed = settlements.read(db, report)
    a_settled(database, task, old, exit_code=3)
    an_attempt(database, task)

    with database.connection() as db, pytest.raises(LostRace) as refused:
        settlements.settle(db, report, actor="worker", believed=believed)

    assert refused.value.code == "stale_view"
    assert events(database, task) == ["add", "claim", "settle"]


@pytest.mark.case("S09")
def test_a_spent_budget_ends_at_a_limit_gate_and_an_items_own_timeout_is_retried(database: Database) -> None:
    limited, timed_out = a_running_task(database), a_running_task(database)
    attempt = an_attempt(database, limited)
    stop(database, limited, StopReason.time_limit)

    first = a_settled(database, limited, attempt, exit_code=143)
    second = a_settled(database, timed_out, isolation=Isolation.timeout, exit_code=143)

    assert (first.attempt_state, first.task.state, first.event) == (A.cancelled, S.needs_human, E.hit_limit)
    assert the_gate(database, limited).reason == "the budget is spent"
    assert (second.attempt_state, second.task.state, second.task.failures) == (A.failed, S.running, 1)


@pytest.mark.case("S09")
def test_a_budget_spent_before_the_agent_was_started_is_a_limit_and_no_failure(
    database: Database, superuser_url: str
) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=0), budget=HOUR))
    attempt = an_attempt(database, task, launched=False)
    aged(superuser_url, "UPDATE task SET running_since = running_since - interval '1 hour'")

    with pytest.raises(Refusal):
        launch_in_a_ready_place(database, attempt)
    settled = a_settled(database, task, attempt, exit_code=None)

    assert (settled.attempt_state, settled.word, settled.event) == (A.cancelled, "time_limit", E.hit_limit)
    assert settled.task.failures == 0


@pytest.mark.case("R01")
def test_a_budget_that_ran_out_while_a_worker_was_dead_interrupts_what_was_never_started(
    database: Database, superuser_url: str
) -> None:
    task = a_running_task(database, plan=a_plan(budget=HOUR))
    attempt = an_attempt(database, task, launched=False)
    aged(superuser_url, "UPDATE task SET running_since = running_since - interval '1 hour'")

    settled = a_settled(database, task, attempt, **LOST)

    assert (settled.attempt_state, settled.event) == (A.interrupted, E.requeue)


@pytest.mark.case("S10")
def test_a_limit_and_a_cancellation_are_one_closing_event(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    stop(database, task, StopReason.time_limit)
    cancel(database, task)

    settled = a_settled(database, task, attempt)

    assert settled.task.state is S.cancelled
    assert events(database, task) == ["add", "claim", "cancel"]
    assert moves(database, task)[-1].reason == "time_limit, asked by rev: not needed"


@pytest.mark.case("S11", "F09", "A07", "P03")
def test_a_valid_late_result_of_a_cancelled_task_changes_nothing_but_keeps_its_findings(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    cancel(database, task)

    settled = a_settled(database, task, attempt, **DONE, out_of_scope=EXTRA, **UNSAFE)

    ended = the_attempt(database, attempt)
    with database.connection() as db:
        assert (ledger.listing(db, task.id), pauses.latest(db, task.id)) == ([], None)
    assert (ended.state, ended.commit, settled.task.state) == (A.cancelled, None, S.cancelled)
    assert [(finding.state, finding.late) for finding in owed(database, task)] == [("open", True)]


@pytest.mark.case("S12")
def test_a_stop_that_was_rolled_back_never_reaches_the_worker(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    with pytest.raises(ZeroDivisionError):
        stop_and_fail(database, task)

    with database.connection() as db:
        assert [beat.stop_reason for beat in claims.signals(db, held=[(task.id, task.lease_epoch)])] == [None]
    assert a_settled(database, task, attempt, **DONE).attempt_state is A.completed


def stop_and_fail(database: Database, task: Task) -> None:
    with database.transaction() as db:
        interventions.stop(db, task.id, actor="rev")
        raise ZeroDivisionError


@pytest.mark.case("S14")
def test_what_was_settled_before_an_answer_was_lost_is_found_settled_once(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    first = a_settled(database, task, attempt, **DONE, draining=True)

    with pytest.raises(Refusal) as refused:
        a_settled(database, task, attempt, **DONE, draining=True)

    ended = the_attempt(database, attempt)
    assert refused.value.code == "attempt_ended"
    assert (ended.state, ended.epoch, ended.commit) == (first.attempt_state, attempt.epoch, first.task.head)
    assert events(database, task).count("release") == 1


@pytest.mark.case("X03")
def test_no_change_makes_no_commit_and_the_next_item_is_due(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item("P1"), an_item("P2")))

    settled = a_settled(database, task, outcome=Outcome.unchanged)

    with database.connection() as db:
        done = ledger.live(db, task.id)
    assert [(entry.item_id, entry.outcome, entry.commit) for entry in done] == [("P1", "unchanged", None)]
    assert (settled.task.head, settled.task.context) == (task.base, task.context)
    assert what_is_next(database, task) == RunItem("P2", AttemptKind.execute)


@pytest.mark.case("X07")
@pytest.mark.parametrize("commit", ["its own base", "abc", "G" * 40])
def test_a_commit_that_is_its_base_or_no_id_is_refused_whole(database: Database, commit: str) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    before = seen(database, task)

    with pytest.raises(Refusal) as refused:
        a_settled(database, task, attempt, **DONE, commit=attempt.base if commit == "its own base" else commit)

    assert refused.value.facts["constraint"] == "commit_ledger_commit"
    assert seen(database, task) == before
    with database.connection() as db:
        assert attempts.active(db, task.id) == attempt
