"""Every row of recovery's table, by what is found, with the test that proves it."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
ROWS: Final = {
    "running, lease live, not ours": "test_a_living_lease_of_another_host_is_untouched",
    "running, lease dead, attempt pending": "test_a_pending_attempt_is_interrupted_and_its_workspace_taken_out_of_use",
    "running, lease dead, attempt running, safe": "test_safe_partial_work_is_kept_and_the_task_starts_afresh",
    "running, lease dead, attempt running, unsafe": "test_unsafe_changes_of_a_crashed_agent_are_a_finding",
    "running, lease dead, attempt running, an equal result kept": (
        "test_an_equal_tree_is_settled_under_the_same_commit_and_the_agent_is_not_run_again"
    ),
    "running, lease dead, a reason recorded": "test_a_reason_recorded_before_the_worker_died_still_counts",
    "the third loss in a row": "test_the_third_loss_without_progress_is_a_finding",
    "running, no attempt active, items left": "test_between_items_it_is_queued_or_halted_by_what_was_asked",
    "running, no attempt active, nothing left": "test_killed_with_nothing_left_to_run_the_next_claim_submits",
    "latest attempt failed": "test_an_agent_known_to_have_failed_is_a_failure_and_its_retries_count",
    "attempt terminal, allocation ready": "test_a_ready_workspace_of_a_waiting_task_is_quarantined_and_never_a_finding",
    "allocation reserved, no live owner": "test_what_a_silent_worker_made_for_an_attempt_that_failed_is_put_right",
    "tree on another host": (
        "test_the_task_goes_on_elsewhere_and_what_was_left_here_is_judged_when_this_host_recovers"
    ),
    "merging, merge lease live": "test_a_push_that_may_still_be_under_way_is_left_alone",
    "merging, merge lease dead, arrived": "test_a_push_that_arrived_is_merged",
    "merging, merge lease dead, absent": "test_a_push_that_never_arrived_failed_and_the_approval_stands",
    "queued, budget spent": "test_a_queued_task_without_budget_goes_to_its_limit_gate_once",
    "closed, allocation ready": "test_a_ready_workspace_of_a_closed_task_is_quarantined",
    "waiting": "test_a_task_that_waits_for_a_person_is_untouched",
    "queued, mergeable": "test_queued_approved_merging_and_closed_tasks_are_untouched",
    "commit under an attempt ref, no ledger row": (
        "test_killed_after_the_commit_and_before_its_row_the_ref_is_pruned_and_the_item_runs_again"
    ),
    "ledger row, refs behind or ahead": "test_a_ref_that_is_missing_or_elsewhere_is_what_its_row_says_again",
    "live head's object missing": "test_a_head_whose_object_is_lost_is_reported_and_never_rewritten",
}


@pytest.mark.case("R01")
def test_every_row_has_a_test_that_names_the_case() -> None:
    assert {row for row, test in ROWS.items() if test not in set(proving("R01"))} == set()


def proving(case: str) -> Iterator[str]:
    """Name the tests of recovery that carry a case."""
    for file in sorted((TESTS / "recovery").glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and case in _marks(node):
                yield node.name


def _marks(test: ast.FunctionDef) -> set[object]:
    return {
        constant.value
        for mark in test.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case"
        for constant in mark.args
        if isinstance(constant, ast.Constant)
    }
