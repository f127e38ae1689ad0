"""What comes next between items, each question beating all that are asked after it."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from statemachine.attempts import AttemptKind
from statemachine.steps import (
    AwaitApproval,
    Cancel,
    GiveUp,
    Halt,
    HitLimit,
    NextItem,
    RunChecks,
    RunItem,
    Step,
    StepFacts,
    Submit,
    next_step,
)

NOTHING_LEFT = StepFacts(budget_spent=False)
ITEM = NextItem(id="P2", kind=AttemptKind.execute)

# In the order of the questions; of those on the item the one asked last describes it.
LADDER: tuple[tuple[dict[str, Any], Step], ...] = (
    ({"cancel_requested": True}, Cancel()),
    ({"stop": True}, Halt()),
    ({"budget_spent": True}, HitLimit()),
    ({"plan_asks": True}, AwaitApproval(None)),
    ({"item": replace(ITEM, asks=True, retry_left=False)}, AwaitApproval("P2")),
    ({"checks": ("test", "lint"), "failed": frozenset({"test"}), "check_retry_left": False}, GiveUp(None)),
)


def test_with_nothing_left_the_task_is_submitted() -> None:
    assert next_step(NOTHING_LEFT) == Submit()


@pytest.mark.parametrize("rung", range(len(LADDER)))
def test_each_question_beats_every_later_one(rung: int) -> None:
    facts, expected = LADDER[rung]
    later = LADDER[rung + 1 :]

    for size in range(len(later) + 1):
        for others in combinations(later, size):
            every = {key: value for other, _ in reversed(others) for key, value in other.items()} | facts
            assert next_step(replace(NOTHING_LEFT, **every)) == expected


@pytest.mark.parametrize("kind", [AttemptKind.execute, AttemptKind.fix])
def test_the_first_item_not_done_runs_as_what_it_is(kind: AttemptKind) -> None:
    facts = replace(NOTHING_LEFT, item=replace(ITEM, kind=kind), checks=("test",))

    assert next_step(facts) == RunItem("P2", kind)


def test_an_item_without_a_retry_is_given_up_and_not_run() -> None:
    facts = replace(NOTHING_LEFT, item=replace(ITEM, retry_left=False))

    assert next_step(facts) == GiveUp("P2")


def test_checks_run_only_when_every_item_is_done_and_only_those_without_a_pass() -> None:
    facts = replace(NOTHING_LEFT, checks=("test", "lint", "types"), passed=frozenset({"lint"}))

    assert next_step(facts) == RunChecks(("test", "types"))
    assert next_step(replace(facts, item=ITEM)) == RunItem("P2", AttemptKind.execute)


def test_a_failed_check_runs_again_while_a_retry_is_left() -> None:
    facts = replace(NOTHING_LEFT, checks=("test",), failed=frozenset({"test"}))

    assert next_step(facts) == RunChecks(("test",))
    assert next_step(replace(facts, check_retry_left=False)) == GiveUp(None)


def test_nothing_is_submitted_before_every_check_passed_on_this_head() -> None:
    facts = replace(NOTHING_LEFT, checks=("test", "lint"))

    for size in range(3):
        for passed in map(frozenset, combinations(facts.checks, size)):
            submitted = next_step(replace(facts, passed=passed)) == Submit()
            assert submitted == (size == 2)


def test_the_result_of_a_check_the_plan_no_longer_asks_for_is_nothing() -> None:
    facts = replace(NOTHING_LEFT, failed=frozenset({"gone"}), check_retry_left=False)

    assert next_step(facts) == Submit()


@pytest.mark.case("X08")
def test_a_stop_between_items_is_named_and_the_next_item_not_started() -> None:
    facts = replace(NOTHING_LEFT, item=ITEM, stop=True)

    assert next_step(facts) == Halt()
