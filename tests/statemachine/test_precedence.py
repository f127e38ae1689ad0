"""Both precedences, over every combination of facts there is."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest

from statemachine.attempts import ACTIVE, ENDED, AttemptKind, AttemptState, StopReason
from statemachine.decisions import Facts, decide
from statemachine.refusals import Refusal
from statemachine.settlement import EndFacts, Isolation, MoveFacts, Outcome, attempt_end, stores_pause, task_move
from statemachine.tasks import TaskEvent, TaskState

A, E, K, R = AttemptState, TaskEvent, AttemptKind, StopReason
FLAG = (False, True)


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
