"""Every state meets every event with every set of facts."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.decisions import Facts, Move, decide
from statemachine.denials import ELSEWHERE, next_command
from statemachine.gates import GateKind
from statemachine.refusals import Refusal
from statemachine.tasks import (
    BEARS_FINDING,
    BEARS_PAUSE,
    BEGINNING,
    CLOSED,
    RULES,
    WAITING,
    Source,
    TaskEvent,
    TaskState,
)

E, S = TaskEvent, TaskState

SOURCES: tuple[Source, ...] = (BEGINNING, *S)
EDGES = {(rule.event, source) for rule in RULES for source in rule.sources}
CODES = set(ELSEWHERE.values()) | {"merge_in_flight", "task_closed", "finding_owed", "pause_owed", "attempt_active"}
CODES |= {"finding_gate_open", "no_pause", "items_unfinished", "checks_missing"}


def every_facts() -> Iterator[Facts]:
    for findings, pauses, gate, active, items, checks in product(
        (0, 1, 2), (0, 1), (None, *GateKind), *[(False, True)] * 3
    ):
        yield Facts(
            task=12,
            owed_findings=findings,
            owed_pauses=pauses,
            gate=gate,
            attempt_active=active,
            items_done=items,
            checks_passed=checks,
        )


@cache
def answers(state: Source) -> tuple[tuple[TaskEvent, Facts, Move | Refusal], ...]:
    return tuple((event, facts, answer(state, event, facts)) for event, facts in product(E, every_facts()))


def moves(state: Source) -> Iterator[tuple[Move, Facts]]:
    yield from ((said, facts) for _, facts, said in answers(state) if isinstance(said, Move))


def answer(state: Source, event: TaskEvent, facts: Facts) -> Move | Refusal:
    try:
        return decide(state, event, facts)
    except Refusal as refusal:
        return refusal


@pytest.mark.parametrize("state", SOURCES)
def test_every_event_is_an_edge_or_a_named_refusal_whatever_the_facts(state: Source) -> None:
    for event, _, said in answers(state):
        match said:
            case Move() as move:
                assert (event, state) in EDGES
                assert move.event is event
                assert move.source == state
            case refusal:
                assert refusal.code in CODES
                assert refusal.message.startswith("task 12 ")
                assert refusal.hint.startswith("tasks ")
                assert "{" not in refusal.message + refusal.hint


@pytest.mark.parametrize("state", SOURCES)
def test_no_move_takes_what_is_owed_where_it_may_not_rest(state: Source) -> None:
    decides_the_pause = {E.approve_continuation, E.discard_item}

    for move, facts in moves(state):
        if move.event is not E.take_over:
            assert not facts.owed_findings or move.dest in BEARS_FINDING
            assert not facts.owed_pauses or move.dest in BEARS_PAUSE or move.event in decides_the_pause


@pytest.mark.parametrize("state", SOURCES)
def test_while_an_attempt_is_active_only_a_take_over_moves_the_task(state: Source) -> None:
    events = {move.event for move, facts in moves(state) if facts.attempt_active}

    assert events == ({E.take_over} if state is S.running else set())


@pytest.mark.parametrize("state", SOURCES)
def test_a_move_opens_the_gate_its_destination_waits_at(state: Source) -> None:
    for move, _ in moves(state):
        assert (move.gate is not None) == (move.dest in WAITING)


@pytest.mark.parametrize("closed", sorted(CLOSED))
def test_a_closed_task_never_moves_again(closed: TaskState) -> None:
    assert answers(closed)
    assert not list(moves(closed))


@pytest.mark.parametrize("event", [E.claim, E.retry, E.amend, E.cancel, E.approve, E.request_changes, E.raise_finding])
def test_a_merge_in_flight_is_left_alone(event: TaskEvent) -> None:
    refusal = answer(S.merging, event, Facts())

    assert isinstance(refusal, Refusal)
    assert refusal.code in {"merge_in_flight", ELSEWHERE[event]}


@pytest.mark.parametrize(
    ("state", "event", "code"),
    [
        (S.queued, E.retry, "not_at_gate"),
        (S.running, E.approve, "not_at_gate"),
        (S.in_review, E.begin_merge, "not_mergeable"),
        (S.merging, E.begin_merge, "merge_in_flight"),
        (S.merging, E.cancel, "merge_in_flight"),
        (S.merged, E.cancel, "task_closed"),
        (S.cancelled, E.raise_finding, "task_closed"),
        (S.in_review, E.halt, "not_running"),
        (S.needs_human, E.amend, "not_amendable"),
        (S.in_review, E.claim, "not_queued"),
        (S.queued, E.add, "already_added"),
        (BEGINNING, E.claim, "not_queued"),
    ],
)
def test_an_event_at_the_wrong_place_is_refused_by_its_code(state: Source, event: TaskEvent, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        decide(state, event)

    assert refused.value.code == code


def test_a_failed_merge_waits_for_a_person_only_if_something_is_owed() -> None:
    owing, clean = Facts(owed_findings=1), Facts()

    assert decide(S.merging, E.fail_merge, owing) == Move(E.fail_merge, S.merging, S.needs_human, GateKind.finding)
    assert decide(S.merging, E.fail_merge, clean) == Move(E.fail_merge, S.merging, S.merge_blocked, None)


def test_a_finding_takes_the_place_of_another_gate_and_joins_its_own() -> None:
    at_limit, at_finding, unread = Facts(gate=GateKind.limit), Facts(gate=GateKind.finding), Facts()

    assert decide(S.needs_human, E.raise_finding, at_limit).gate is GateKind.finding
    for facts in (at_finding, unread):
        with pytest.raises(Refusal) as refused:
            decide(S.needs_human, E.raise_finding, facts)
        assert refused.value.code == "finding_gate_open"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (Facts(owed_findings=1, owed_pauses=1), "finding_owed"),
        (Facts(owed_pauses=1, items_done=True), "pause_owed"),
        (Facts(items_done=False, checks_passed=True), "items_unfinished"),
        (Facts(items_done=True), "checks_missing"),
    ],
)
@pytest.mark.parametrize(("state", "event"), [(S.needs_human, E.accept_result), (S.running, E.submit)])
def test_nothing_unfinished_is_offered_for_review(state: Source, event: TaskEvent, facts: Facts, code: str) -> None:
    refusal = answer(state, event, facts)

    assert isinstance(refusal, Refusal)
    assert refusal.code == code


def test_a_pause_is_resumed_once_every_finding_is_decided() -> None:
    undecided, decided, none = Facts(owed_findings=1, owed_pauses=1), Facts(owed_pauses=1), Facts()

    assert decide(S.needs_human, E.resume_pause, decided).dest is S.needs_amendment
    for facts, code in ((undecided, "finding_owed"), (none, "no_pause")):
        with pytest.raises(Refusal) as refused:
            decide(S.needs_human, E.resume_pause, facts)
        assert refused.value.code == code


@pytest.mark.parametrize("event", [E.hit_limit, E.halt, E.give_up])
def test_no_other_gate_hides_an_owed_finding(event: TaskEvent) -> None:
    with pytest.raises(Refusal) as refused:
        decide(S.running, event, Facts(owed_findings=1))

    assert refused.value.code == "finding_owed"


@pytest.mark.parametrize("state", [S.approved, S.merge_blocked])
@pytest.mark.parametrize(
    ("facts", "code"), [(Facts(owed_findings=1), "finding_owed"), (Facts(owed_pauses=1), "pause_owed")]
)
def test_no_merge_begins_while_anything_is_owed(state: TaskState, facts: Facts, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        decide(state, E.begin_merge, facts)

    assert refused.value.code == code


@pytest.mark.parametrize("event", [E.retry, E.request_changes, E.discard_item, E.accept_result])
def test_nothing_leaves_needs_human_towards_work_while_a_finding_is_owed(event: TaskEvent) -> None:
    facts = Facts(owed_findings=1, items_done=True, checks_passed=True)

    with pytest.raises(Refusal) as refused:
        decide(S.needs_human, event, facts)

    assert refused.value.code == "finding_owed"
    assert refused.value.facts["owed_findings"] == 1


@given(st.sampled_from(SOURCES), st.sampled_from(E), st.sampled_from(list(every_facts())))
def test_the_same_question_always_gets_the_same_answer(state: Source, event: TaskEvent, facts: Facts) -> None:
    first, second = answer(state, event, facts), answer(state, event, facts)

    if isinstance(first, Refusal):
        assert isinstance(second, Refusal)
        assert (first.code, first.message) == (second.code, second.message)
    else:
        assert first == second


@pytest.mark.parametrize("state", SOURCES)
def test_every_state_has_a_next_command(state: Source) -> None:
    assert next_command(state, 7).startswith("tasks ")
    assert "{" not in next_command(state)


def test_the_vocabulary_is_imported_without_the_machine() -> None:
    program = "import sys, statemachine.tasks, statemachine.decisions; print('transitions' in sys.modules)"

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "False"
