"""Each condition of a merge refuses by its code, in the order of the design."""

from dataclasses import replace
from typing import Any

import pytest

from statemachine.landings import MergeFacts, Strategy, last_look, merge, merge_event, strategy_of
from statemachine.refusals import Refusal
from statemachine.tasks import MERGEABLE, TaskEvent, TaskState

READY = MergeFacts(
    task=12,
    state=TaskState.approved,
    owed_findings=(),
    owed_pauses=0,
    submitting=False,
    unfinished=(),
    missing=(),
    failed=(),
    approval_covers=True,
    approver="grace",
    author="ada",
    author_may_approve=False,
    descends=True,
)
# In the order in which they are asked.
FAULTS: dict[str, dict[str, Any]] = {
    "not_mergeable": {"state": TaskState.in_review},
    "finding_owed": {"owed_findings": (3,)},
    "pause_owed": {"owed_pauses": 1},
    "merge_in_flight": {"submitting": True},
    "items_unfinished": {"unfinished": ("P2",)},
    "checks_missing": {"missing": ("pytest -q",)},
    "checks_failed": {"failed": ("pytest -q",)},
    "approval_lapsed": {"approval_covers": False},
    "approver_is_author": {"approver": "ada"},
    "target_unreadable": {"target_error": "permission denied"},
    "target_checked_out": {"dirty": True},
    "merge_conflict": {"conflicts": ("src/upload.py",)},
    "not_fast_forward": {"strategy": Strategy.ff, "descends": False},
}


def code_of(facts: MergeFacts) -> str:
    with pytest.raises(Refusal) as refused:
        merge(facts)
    assert refused.value.hint.startswith("tasks ")
    return refused.value.code


@pytest.mark.parametrize("state", sorted(MERGEABLE))
def test_approved_work_in_order_is_merged(state: TaskState) -> None:
    merge(replace(READY, state=state))


@pytest.mark.parametrize(("code", "fault"), FAULTS.items())
def test_each_fault_is_refused_by_its_own_code(code: str, fault: dict[str, Any]) -> None:
    assert code_of(replace(READY, **fault)) == code


def test_of_several_faults_the_first_in_order_is_named() -> None:
    worst = READY

    for code, fault in reversed(FAULTS.items()):
        worst = replace(worst, **fault)
        assert code_of(worst) == code


@pytest.mark.parametrize("state", sorted(set(TaskState) - MERGEABLE - {TaskState.merging}))
def test_nothing_but_approved_work_is_merged(state: TaskState) -> None:
    assert code_of(replace(READY, state=state)) == "not_mergeable"


def test_a_second_merge_hears_that_one_is_in_flight() -> None:
    assert code_of(replace(READY, state=TaskState.merging, submitting=True)) == "merge_in_flight"


def test_an_author_may_approve_where_the_policy_says_so() -> None:
    merge(replace(READY, approver="ada", author_may_approve=True))


def test_a_target_that_holds_the_result_needs_no_push_and_nothing_stands_in_the_way() -> None:
    there = replace(READY, holds_result=True, dirty=True, conflicts=("a",), descends=False, strategy=Strategy.ff)

    merge(there)

    assert merge_event(there) is TaskEvent.confirm_merge
    assert merge_event(READY) is TaskEvent.begin_merge


def test_a_fast_forward_is_chosen_where_it_can_be() -> None:
    chosen = [strategy_of(replace(READY, descends=descends)) for descends in (True, False)]

    assert chosen == [Strategy.ff, Strategy.merge]
    assert strategy_of(replace(READY, strategy=Strategy.squash)) is Strategy.squash


LOOKED_AT = ("finding_owed", "pause_owed", "approval_lapsed", "approver_is_author", "target_unreadable")
BEGUN = replace(READY, state=TaskState.merging, submitting=True)


@pytest.mark.parametrize("code", LOOKED_AT)
def test_the_last_look_before_the_push_sees_what_moved(code: str) -> None:
    with pytest.raises(Refusal) as refused:
        last_look(replace(BEGUN, **FAULTS[code]))

    assert refused.value.code == code


def test_the_last_look_lets_a_begun_merge_pass_and_no_other() -> None:
    last_look(BEGUN)

    for fault in ({"state": TaskState.approved}, {"submitting": False}):
        with pytest.raises(Refusal) as refused:
            last_look(replace(BEGUN, **fault))
        assert refused.value.code == "not_merging"


def test_a_target_s_own_words_are_quoted() -> None:
    with pytest.raises(Refusal) as refused:
        merge(replace(READY, target_error="fatal:\x1b]0;owned\x07\nno"))

    assert refused.value.message.isprintable()
