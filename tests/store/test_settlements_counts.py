"""What settlement counts: retries, losses, and findings."""

import pytest

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.findings import FindingKind
from statemachine.tasks import TaskEvent, TaskState
from store.engine import Database
from store.settlements import Settled
from store.tasks import Task
from tests.factories import a_finding, a_plan, a_running_task, a_settled, a_task, an_attempt, an_item
from tests.store.scenes import (
    DONE,
    LOST,
    UNSAFE,
    a_check_ended,
    events,
    owed,
    revised,
    stop,
    the_gate,
)

A, E, S = AttemptState, TaskEvent, TaskState
OTHER = a_plan(an_item(intent="Something else."))


def test_failures_are_counted_until_the_retries_are_used_up(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=2)))

    ends = [a_settled(database, task, exit_code=1) for _ in range(3)]

    assert [(end.event, end.task.failures) for end in ends] == [(E.settle, 1), (E.settle, 2), (E.give_up, 3)]


def test_neither_staleness_nor_a_lost_worker_nor_a_shutdown_uses_a_retry(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=0)))
    stale = an_attempt(database, task)
    stop(database, task, StopReason.stale)
    a_settled(database, task, stale)
    task = a_settled(database, task, **LOST).task
    task = a_running_task(database, task)
    shut = an_attempt(database, task)
    stop(database, task, StopReason.shutdown)

    settled = a_settled(database, task, shut, draining=True)

    assert (settled.task.failures, settled.task.losses) == (0, 1)
    assert events(database, task)[2:] == ["settle", "requeue", "claim", "release"]


@pytest.mark.case("R07")
def test_the_third_loss_in_a_row_is_a_finding(database: Database) -> None:
    task = a_task(database)

    ends = []
    for _ in range(3):
        task = a_running_task(database, task)
        ends.append(a_settled(database, task, **LOST))

    assert [end.event for end in ends] == [E.requeue, E.requeue, E.raise_finding]
    assert [finding.kind for finding in owed(database, task)] == [FindingKind.worker_crash_loop]
    assert "3 workers in a row" in the_gate(database, task).reason


def test_work_that_got_done_forgets_earlier_losses(database: Database) -> None:
    task = a_task(database, plan=a_plan(an_item("P1"), an_item("P2")))
    for _ in range(2):
        task = a_settled(database, a_running_task(database, task), **LOST).task
    task = a_running_task(database, task)
    a_settled(database, task, **DONE)

    settled = a_settled(database, task, an_attempt(database, task, item="P2"), **LOST)

    assert (settled.event, settled.task.losses) == (E.requeue, 1)


def test_a_failed_check_counts_against_the_retries_of_the_checks(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(checks=("true",), check_retries=1))
    a_settled(database, task, **DONE, next_kind=AttemptKind.check)

    ends = [a_failed_check(database, task) for _ in range(2)]

    assert [end.event for end in ends] == [E.settle, E.give_up]
    assert ends[-1].task.next_kind is AttemptKind.check


def a_failed_check(database: Database, task: Task) -> Settled:
    attempt = an_attempt(database, task, item=None, kind=AttemptKind.check)
    a_check_ended(database, attempt, "true", 1)
    return a_settled(database, task, attempt, exit_code=1, failure_code="checks_failed")


def test_a_failed_review_is_no_failure_of_the_task(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=0)))
    a_settled(database, task, **DONE)
    review = an_attempt(database, task, item=None, kind=AttemptKind.review)

    settled = a_settled(database, task, review, exit_code=1)

    assert (settled.attempt_state, settled.event) == (A.failed, E.settle)


@pytest.mark.case("F05")
def test_a_violation_of_a_stale_attempt_is_owed(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    revised(database, task, OTHER)

    settled = a_settled(database, task, attempt, **UNSAFE)

    assert (settled.attempt_state, settled.task.state, settled.task.owed_findings) == (A.stale, S.needs_human, 1)


@pytest.mark.case("F04")
def test_a_real_inspection_error_is_owed_although_a_stop_is_pending(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    stop(database, task, StopReason.user, "rev")
    broken = a_finding("the tree could not be read")

    settled = a_settled(database, task, attempt, findings=(broken,))

    assert (settled.attempt_state, settled.task.state, settled.task.owed_findings) == (A.cancelled, S.needs_human, 1)


@pytest.mark.case("F06")
def test_every_violation_is_a_row_and_the_same_one_twice_is_one(database: Database) -> None:
    task = a_running_task(database)
    twice, other = a_finding(), a_finding("another", paths=["elsewhere"])

    settled = a_settled(database, task, findings=(twice, other, twice))

    assert settled.task.owed_findings == 2
    assert {finding.fingerprint for finding in owed(database, task)} == {twice.fingerprint, other.fingerprint}
