"""Whatever a person answers at a gate is a move the table allows from there."""

import pytest

from statemachine.answers import ANSWERS, approval
from statemachine.gates import GateKind
from statemachine.tasks import CLOSED, RULES, TaskEvent, TaskState, Who


def rests(kind: GateKind) -> set[TaskState]:
    return {rule.dest for rule in RULES if rule.gate is kind}


@pytest.mark.parametrize("kind", GateKind)
def test_every_answer_is_an_edge_from_where_the_gate_stands(kind: GateKind) -> None:
    answer = ANSWERS[kind]
    events = {*answer.approve, *answer.reject} | ({answer.before_all} if answer.before_all else set())

    for event in events:
        sources = {source for rule in RULES if rule.event is event for source in rule.sources}
        assert rests(kind) <= sources


@pytest.mark.parametrize("kind", GateKind)
def test_every_gate_has_a_way_on_and_a_way_to_close_the_task(kind: GateKind) -> None:
    answer = ANSWERS[kind]

    ends = {rule.dest for rule in RULES if rule.event in answer.reject}
    goes_on = {rule.dest for rule in RULES if rule.event is answer.approve[0]}

    assert ends & CLOSED
    assert not goes_on & CLOSED


def test_every_answer_is_a_reviewer_s() -> None:
    events = {event for answer in ANSWERS.values() for event in (*answer.approve, *answer.reject)}

    for rule in RULES:
        if rule.event in events:
            assert Who.reviewer in rule.who


@pytest.mark.parametrize("kind", [GateKind.finding, GateKind.limit, GateKind.failure])
def test_an_open_pause_is_resumed_before_anything_is_retried(kind: GateKind) -> None:
    assert approval(kind, pause_open=True) is TaskEvent.resume_pause
    assert approval(kind, pause_open=False) is TaskEvent.retry


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (GateKind.scope, TaskEvent.approve_continuation),
        (GateKind.approval, TaskEvent.approve_start),
        (GateKind.fixed, TaskEvent.continue_anyway),
        (GateKind.review, TaskEvent.approve),
    ],
)
def test_elsewhere_approving_does_one_thing(kind: GateKind, event: TaskEvent) -> None:
    assert approval(kind, pause_open=True) is approval(kind, pause_open=False) is event
