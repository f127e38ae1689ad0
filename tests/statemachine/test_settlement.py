"""Both precedences, over every combination of facts there is."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest

from statemachine.attempts import ACTIVE, ENDED, AttemptKind, AttemptState, StopReason
from statemachine.decisions import Facts, decide
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
    stores_pause,
    task_move,
    uses_retry,
)
from statemachine.tasks import TaskEvent, TaskState

A, E, K, R = AttemptState, TaskEvent, AttemptKind, StopReason
FLAG = (False, True)


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


@cache
def every_end() -> tuple[EndFacts, ...]:
    every = product(
        sorted(ACTIVE),
        (None, *R),
        FLAG,
        FLAG,
        (None, *Isolation),
        FLAG,
        (None, 0, 3),
        (None, *Outcome),
        FLAG,
        ("", "launch_failed"),
        FLAG,
    )
    return tuple(
        EndFacts(
            state=state,
            reason=reason,
            context_current=context,
            policy_current=policy,
            isolation=isolation,
            isolation_first=first,
            exit_code=code,
            outcome=outcome,
            oversized=oversized,
            failure=failure,
            recovered=recovered,
        )
        for state, reason, context, policy, isolation, first, code, outcome, oversized, failure, recovered in every
        if not (state is A.pending and outcome)
    )


@cache
def every_move() -> tuple[MoveFacts, ...]:
    every = product((None, *sorted(ENDED)), (None, *K), FLAG, FLAG, (None, *R), FLAG, FLAG, FLAG, FLAG)
    return tuple(
        MoveFacts(
            ended=ended,
            kind=kind,
            cancel_requested=cancel,
            finding=finding,
            reason=reason,
            retry_left=retry,
            out_of_scope=out,
            draining=draining,
            recovering=recovering,
        )
        for ended, kind, cancel, finding, reason, retry, out, draining, recovering in every
    )


def said(facts: MoveFacts) -> TaskEvent | str:
    try:
        return task_move(facts)
    except Refusal as refusal:
        return refusal.code


def settled() -> Iterator[tuple[MoveFacts, TaskEvent]]:
    """Give every set of facts from which something follows."""
    for facts in every_move():
        event = said(facts)
        if isinstance(event, TaskEvent):
            yield facts, event


END_TABLE: tuple[tuple[Callable[[EndFacts], bool], AttemptState], ...] = (
    (lambda f: f.reason is R.user, A.cancelled),
    (lambda f: f.reason is R.shutdown and bool(f.isolation and f.isolation_first), A.failed),
    (lambda f: f.reason is R.shutdown, A.stopped),
    (lambda f: f.reason is R.stale, A.stale),
    (lambda f: f.reason is R.time_limit, A.cancelled),
    (lambda f: not (f.context_current and f.policy_current), A.stale),
    (lambda f: f.isolation is not None, A.failed),
    (
        lambda f: f.exit_code == 0 and f.outcome is not None and not (f.oversized or f.failure or f.recovered),
        A.completed,
    ),
    (lambda f: f.recovered, A.interrupted),
    (lambda _: True, A.failed),
)

MOVE_TABLE: tuple[tuple[Callable[[MoveFacts], bool], TaskEvent], ...] = (
    (lambda f: f.cancel_requested, E.cancel),
    (lambda f: f.finding, E.raise_finding),
    (lambda f: f.out_of_scope, E.pause),
    (lambda f: f.reason is R.time_limit, E.hit_limit),
    (lambda f: f.reason is R.user, E.halt),
    (lambda f: f.ended is A.failed and f.kind is not K.review and not f.retry_left, E.give_up),
    (lambda f: f.draining, E.release),
    (lambda f: f.recovering, E.requeue),
    (lambda f: f.ended in {A.completed, A.stale, A.failed}, E.settle),
)


@pytest.mark.case("S18")
def test_an_attempt_ends_by_the_first_row_that_applies() -> None:
    for facts in every_end():
        expected = next(state for applies, state in END_TABLE if applies(facts))

        ended, word = attempt_end(facts)

        assert ended is expected, facts
        assert word


@pytest.mark.case("S18")
def test_a_task_moves_by_the_first_row_that_applies() -> None:
    for facts in every_move():
        expected = next((event for applies, event in MOVE_TABLE if applies(facts)), "nothing_to_settle")

        assert said(facts) == expected, facts


def test_a_pending_attempt_never_completes() -> None:
    ends = {attempt_end(facts)[0] for facts in every_end() if facts.state is A.pending}

    assert ends == ENDED - {A.completed}


def test_completed_means_a_clean_exit_current_facts_and_a_recorded_result() -> None:
    for facts in every_end():
        if attempt_end(facts)[0] is A.completed:
            assert facts.reason is None
            assert facts.context_current
            assert facts.policy_current
            assert facts.exit_code == 0
            assert facts.outcome
            assert (facts.isolation, facts.oversized, facts.recovered) == (None, False, False)


def test_only_recovery_calls_an_attempt_interrupted() -> None:
    assert all(facts.recovered for facts in every_end() if attempt_end(facts)[0] is A.interrupted)


def test_a_finding_beats_stop_stale_limit_and_shutdown() -> None:
    for facts, event in settled():
        if facts.finding and not facts.cancel_requested:
            assert event is E.raise_finding


def test_cancel_beats_everything() -> None:
    events = {event for facts, event in settled() if facts.cancel_requested}

    assert events == {E.cancel}


def test_a_failure_without_a_retry_never_goes_on_by_itself() -> None:
    on = {E.settle, E.release, E.requeue}

    for facts, event in settled():
        if facts.ended is A.failed and not facts.retry_left and facts.kind is not K.review:
            assert event not in on


def test_a_review_that_failed_stops_nobody() -> None:
    event = move(A.failed, kind=K.review, retry=False)

    assert event is E.settle


def test_a_draining_worker_keeps_no_task() -> None:
    events = {event for facts, event in settled() if facts.draining}

    assert E.settle not in events
    assert E.requeue not in events


def test_a_recoverer_runs_nothing_itself() -> None:
    events = {event for facts, event in settled() if facts.recovering and not facts.draining}

    assert E.settle not in events
    assert E.release not in events


def test_every_settled_move_is_an_edge_from_running() -> None:
    for facts, event in settled():
        owed = Facts(
            owed_findings=int(facts.finding), owed_pauses=int(stores_pause(facts) and event is E.raise_finding)
        )

        assert decide(TaskState.running, event, owed).event is event


def test_work_outside_its_scope_always_leaves_a_pause_unless_the_task_closes() -> None:
    for facts, event in settled():
        assert stores_pause(facts) == (facts.out_of_scope and event is not E.cancel)


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
