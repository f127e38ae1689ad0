"""Stops, failures and losses, told one by one."""

import pytest

from statemachine.attempts import ENDED, AttemptKind, AttemptState, StopReason
from statemachine.decisions import decide
from statemachine.refusals import Refusal
from statemachine.settlement import (
    LOSSES_ALLOWED,
    EndFacts,
    Isolation,
    MoveFacts,
    Outcome,
    attempt_end,
    crash_loop,
    retry_left,
    task_move,
    uses_retry,
)
from statemachine.tasks import TaskEvent, TaskState

A, E, K, R = AttemptState, TaskEvent, AttemptKind, StopReason


def end(
    *,
    state: AttemptState = A.running,
    reason: StopReason | None = None,
    context: bool = True,
    policy: bool = True,
    isolation: Isolation | None = None,
    isolation_first: bool = False,
    exit_code: int | None = 0,
    outcome: Outcome | None = None,
    oversized: bool = False,
    failure: str = "",
    recovered: bool = False,
) -> EndFacts:
    return EndFacts(
        state=state,
        reason=reason,
        context_current=context,
        policy_current=policy,
        isolation=isolation,
        isolation_first=isolation_first,
        exit_code=exit_code,
        outcome=outcome,
        oversized=oversized,
        failure=failure,
        recovered=recovered,
    )


def move(
    ended: AttemptState | None,
    *,
    kind: AttemptKind | None = K.execute,
    cancel: bool = False,
    finding: bool = False,
    reason: StopReason | None = None,
    retry: bool = True,
    out_of_scope: bool = False,
    draining: bool = False,
    recovering: bool = False,
) -> TaskEvent:
    return task_move(
        MoveFacts(
            ended=ended,
            kind=kind,
            cancel_requested=cancel,
            finding=finding,
            reason=reason,
            retry_left=retry,
            out_of_scope=out_of_scope,
            draining=draining,
            recovering=recovering,
        )
    )


def test_a_review_that_failed_stops_nobody() -> None:
    event = move(A.failed, kind=K.review, retry=False)

    assert event is E.settle


def test_nothing_is_settled_while_a_worker_simply_goes_on() -> None:
    with pytest.raises(Refusal) as refused:
        move(None, kind=None)

    assert refused.value.code == "nothing_to_settle"


def test_a_user_stop_counts_though_the_worker_shuts_down_afterwards() -> None:
    ended = attempt_end(end(reason=R.user))

    event = move(ended[0], reason=R.user, draining=True)

    assert ended == (A.cancelled, "user")
    assert event is E.halt


def test_a_stopped_agent_is_cancelled_whatever_it_exited_with() -> None:
    ended = attempt_end(end(reason=R.user, exit_code=3))

    assert ended == (A.cancelled, "user")


@pytest.mark.case("S04")
def test_a_time_out_after_a_revision_was_saved_is_stale() -> None:
    ended = attempt_end(end(context=False, isolation=Isolation.timeout, exit_code=None))

    assert ended == (A.stale, "context_moved")


@pytest.mark.case("S05")
@pytest.mark.parametrize(("retry", "event"), [(True, E.release), (False, E.give_up)])
def test_a_time_out_before_a_shutdown_is_a_failure_and_uses_a_retry(*, retry: bool, event: TaskEvent) -> None:
    ended, word = attempt_end(end(reason=R.shutdown, isolation=Isolation.timeout, isolation_first=True))

    moved = move(ended, reason=R.shutdown, retry=retry, draining=True)

    assert (ended, word) == (A.failed, "timeout")
    assert uses_retry(ended)
    assert moved is event


def test_a_time_out_during_a_shutdown_is_the_shutdown() -> None:
    ended, word = attempt_end(end(reason=R.shutdown, isolation=Isolation.timeout))

    assert (ended, word) == (A.stopped, "shutdown")
    assert not uses_retry(ended)


@pytest.mark.case("S06")
@pytest.mark.parametrize("outcome", Outcome)
def test_a_result_for_an_attempt_that_never_started_is_refused(outcome: Outcome) -> None:
    with pytest.raises(Refusal) as refused:
        attempt_end(end(state=A.pending, outcome=outcome))

    assert refused.value.code == "attempt_not_started"


@pytest.mark.case("S07")
def test_an_oversized_result_is_a_failure() -> None:
    ended = attempt_end(end(outcome=Outcome.committed, oversized=True))

    assert ended == (A.failed, "result_too_large")


@pytest.mark.parametrize("state", sorted(ENDED))
def test_an_attempt_that_ended_does_not_end_again(state: AttemptState) -> None:
    with pytest.raises(Refusal) as refused:
        attempt_end(end(state=state, outcome=Outcome.committed))

    assert refused.value.code == "attempt_ended"


@pytest.mark.case("S09")
def test_a_spent_budget_asks_a_person_and_a_timed_out_item_tries_again() -> None:
    by_budget, by_item = attempt_end(end(reason=R.time_limit)), attempt_end(end(isolation=Isolation.timeout))

    moved = [move(by_budget[0], reason=R.time_limit), move(by_item[0])]

    assert by_budget == (A.cancelled, "time_limit")
    assert by_item == (A.failed, "timeout")
    assert moved == [E.hit_limit, E.settle]


@pytest.mark.case("S10")
def test_cancel_beats_the_time_limit_and_closes_once() -> None:
    event = move(A.cancelled, cancel=True, reason=R.time_limit)
    closed = decide(TaskState.running, event).dest

    with pytest.raises(Refusal) as refused:
        decide(closed, E.cancel)

    assert event is E.cancel
    assert refused.value.code == "task_closed"


def test_a_cancelled_task_closes_over_a_valid_late_result() -> None:
    ended, _ = attempt_end(end(reason=R.user, outcome=Outcome.committed))

    event = move(ended, cancel=True, finding=True, reason=R.user)

    assert ended is A.cancelled
    assert event is E.cancel


def test_a_clean_exit_over_an_unsafe_tree_is_a_failure_that_waits_for_a_person() -> None:
    ended, word = attempt_end(end(outcome=None))

    event = move(ended, finding=True, retry=False)

    assert (ended, word) == (A.failed, "not_recorded")
    assert event is E.raise_finding


def test_a_lost_worker_s_attempt_is_interrupted_and_its_task_queued_again() -> None:
    ended, word = attempt_end(end(recovered=True, outcome=Outcome.committed))

    assert (ended, word) == (A.interrupted, "worker_lost")
    assert move(ended, retry=False, recovering=True) is E.requeue


@pytest.mark.parametrize(("failures", "left"), [(0, True), (1, True), (2, False)])
def test_one_retry_allows_two_runs(*, failures: int, left: bool) -> None:
    assert retry_left(failures=failures, retries=1) is left


def test_without_retries_the_first_failure_is_the_last() -> None:
    assert not retry_left(failures=1, retries=0)


def test_only_a_failure_uses_a_retry() -> None:
    assert {state for state in ENDED if uses_retry(state)} == {A.failed}


def test_the_third_loss_in_a_row_is_a_loop() -> None:
    looping = [crash_loop(losses=count) for count in range(5)]

    assert LOSSES_ALLOWED == 3
    assert looping == [False, False, False, True, True]
