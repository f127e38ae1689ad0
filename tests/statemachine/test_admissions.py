"""Each condition refuses by its code, and the first in the order of the design is the one heard."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from statemachine.admissions import (
    CLAIM,
    GO_ON,
    LAUNCH,
    RETRY,
    ClaimFacts,
    GoOnFacts,
    LaunchFacts,
    RetryFacts,
    claim,
    go_on,
    launch,
    retry,
)
from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.landings import LAST_LOOK, MERGE
from statemachine.refusals import LostRace, Refusal
from statemachine.sentences import WORDS
from statemachine.tasks import TaskState

SPENT = timedelta(0)
CLAIMABLE = ClaimFacts(
    task=12,
    state=TaskState.queued,
    available=True,
    kind=AttemptKind.execute,
    executor="local",
    kinds=frozenset({AttemptKind.execute}),
    executors=frozenset({"local"}),
    budget_left=None,
)
EXPECTED = GoOnFacts(task=12, state=TaskState.running, revision_expected=1, revision=1, context_expected=4, context=4)
LAUNCHABLE = LaunchFacts(
    task=12,
    attempt=AttemptState.pending,
    reason=None,
    owed_findings=(),
    owed_pauses=0,
    context_current=True,
    policy_current=True,
    budget_left=timedelta(seconds=1),
    workspace=None,
)
RETRYABLE = RetryFacts(
    task=12,
    state=TaskState.needs_human,
    owed_findings=(),
    owed_pauses=0,
    budget_left=None,
    version=7,
    version_seen=7,
    attempt=AttemptState.failed,
)
MISSING = Refusal("workspace_missing", "the folder is gone", hint="tasks workspace rehome 12")

# In the order in which they are asked.
CLAIM_FAULTS: dict[str, dict[str, Any]] = {
    "not_queued": {"state": TaskState.in_review},
    "not_yet_available": {"available": False},
    "kind_not_served": {"kind": AttemptKind.check},
    "executor_not_served": {"executor": "docker"},
    "budget_spent": {"budget_left": SPENT},
}
GO_ON_FAULTS: dict[str, dict[str, Any]] = {
    "not_running": {"state": TaskState.needs_human},
    "revision_moved": {"revision": 2},
    "context_moved": {"context": 5},
}
LAUNCH_FAULTS: dict[str, dict[str, Any]] = {
    "attempt_not_pending": {"attempt": AttemptState.running},
    "stop_requested": {"reason": StopReason.user},
    "finding_owed": {"owed_findings": (3, 4)},
    "pause_owed": {"owed_pauses": 1},
    "context_moved": {"context_current": False},
    "policy_moved": {"policy_current": False},
    "budget_spent": {"budget_left": -timedelta(seconds=1)},
    "workspace_missing": {"workspace": MISSING},
}
RETRY_FAULTS: dict[str, dict[str, Any]] = {
    "not_at_gate": {"state": TaskState.in_review},
    "finding_owed": {"owed_findings": (3, 4)},
    "pause_owed": {"owed_pauses": 1},
    "budget_spent": {"budget_left": SPENT},
    "stale_view": {"version_seen": 6},
    "not_retryable": {"attempt": AttemptState.completed},
}
AnyFacts = ClaimFacts | GoOnFacts | LaunchFacts | RetryFacts
Admission = Callable[[Any], None]
GATES: list[tuple[Admission, AnyFacts, dict[str, dict[str, Any]]]] = [
    (claim, CLAIMABLE, CLAIM_FAULTS),
    (go_on, EXPECTED, GO_ON_FAULTS),
    (launch, LAUNCHABLE, LAUNCH_FAULTS),
    (retry, RETRYABLE, RETRY_FAULTS),
]


@pytest.mark.parametrize(("admission", "facts", "faults"), GATES)
def test_with_everything_in_order_nothing_is_said(admission: Admission, facts: AnyFacts, faults: object) -> None:
    admission(facts)


@pytest.mark.parametrize(("admission", "facts", "faults"), GATES)
def test_each_fault_is_refused_by_its_own_code(
    admission: Admission, facts: AnyFacts, faults: dict[str, dict[str, Any]]
) -> None:
    for code, fault in faults.items():
        with pytest.raises(Refusal) as refused:
            admission(replace(facts, **fault))

        assert refused.value.code == code
        assert refused.value.hint.startswith("tasks ")


@pytest.mark.parametrize(("admission", "facts", "faults"), GATES)
def test_of_several_faults_the_first_in_order_is_named(
    admission: Admission, facts: AnyFacts, faults: dict[str, dict[str, Any]]
) -> None:
    worst = facts

    for code, fault in reversed(faults.items()):
        worst = replace(worst, **fault)
        with pytest.raises(Refusal) as refused:
            admission(worst)
        assert refused.value.code == code


@pytest.mark.case("A12")
@pytest.mark.parametrize("due", [AttemptKind.check, AttemptKind.review, AttemptKind.fix])
def test_a_worker_for_execute_is_not_given_other_work(due: AttemptKind) -> None:
    with pytest.raises(Refusal) as refused:
        claim(replace(CLAIMABLE, kind=due))

    assert refused.value.code == "kind_not_served"
    assert refused.value.hint == f"tasks work --kinds {due}"


@pytest.mark.case("X08")
@pytest.mark.parametrize(("code", "fault"), GO_ON_FAULTS.items())
def test_what_moved_between_items_is_named_and_the_next_is_not_started(code: str, fault: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        go_on(replace(EXPECTED, **fault))

    assert refused.value.code == code


def test_a_stop_asked_for_before_the_launch_refuses_it() -> None:
    for reason in StopReason:
        with pytest.raises(Refusal) as refused:
            launch(replace(LAUNCHABLE, reason=reason))

        assert refused.value.code == "stop_requested"
        assert refused.value.facts["reason"] is reason


def test_the_workspace_s_own_refusal_is_passed_on_as_it_is() -> None:
    with pytest.raises(Refusal) as refused:
        launch(replace(LAUNCHABLE, workspace=MISSING))

    assert refused.value is MISSING


def test_an_owed_finding_is_listed() -> None:
    with pytest.raises(Refusal) as refused:
        retry(replace(RETRYABLE, owed_findings=tuple(range(1, 9))))

    assert refused.value.facts["owed_findings"] == tuple(range(1, 9))
    assert refused.value.message.endswith("1, 2, 3, 4, 5 and 3 more")


def test_an_old_view_is_a_race_lost_and_an_unasked_one_is_none() -> None:
    with pytest.raises(LostRace):
        retry(replace(RETRYABLE, version_seen=1))

    retry(replace(RETRYABLE, version_seen=None))


@pytest.mark.parametrize("attempt", [None, AttemptState.failed, AttemptState.interrupted, AttemptState.cancelled])
def test_an_attempt_that_left_work_undone_may_be_repeated(attempt: AttemptState | None) -> None:
    retry(replace(RETRYABLE, attempt=attempt))


def test_a_name_from_outside_is_quoted_in_the_sentence_and_whole_in_the_facts() -> None:
    hostile = "local\x1b[2J\n\u202e"

    with pytest.raises(Refusal) as refused:
        claim(replace(CLAIMABLE, executor=hostile))

    assert refused.value.message.isprintable()
    assert refused.value.hint.isprintable()
    assert refused.value.facts["executor"] == hostile


def test_every_condition_has_words_and_every_word_a_condition() -> None:
    asked = {condition.code for condition in CLAIM} | {condition.code for condition in GO_ON}
    asked |= {condition.code for condition in LAUNCH} | {condition.code for condition in RETRY}
    asked |= {condition.code for condition in MERGE} | {condition.code for condition in LAST_LOOK}

    assert asked == set(WORDS)
