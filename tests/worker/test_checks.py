"""The plan's commands, on exactly the head, in a tree no agent has touched."""

import pytest

from statemachine.attempts import AttemptKind, AttemptState
from statemachine.tasks import TaskState
from tests.workshop import EVERYWHERE, Workshop, edit, item

WRITE = "open('a.txt', 'a').write('x')\n"


@pytest.mark.case("X12")
@EVERYWHERE
def test_a_failed_check_keeps_the_task_from_review_and_its_result_is_of_that_head(workshop: Workshop) -> None:
    task = workshop.run(WRITE, checks=("test -f a.txt", "test -f missing.txt"))

    results = {result.command: (result.passed, result.exit_code) for result in workshop.results(task)}
    assert task.state is TaskState.needs_human
    assert workshop.events(task)[-1] == "give_up"
    assert results == {"test -f a.txt": (True, 0), "test -f missing.txt": (False, 1)}
    assert workshop.attempts(task)[-1].failure_code == "checks_failed"


@pytest.mark.case("X12")
def test_a_failed_check_runs_again_as_often_as_the_plan_says(workshop: Workshop) -> None:
    task = workshop.run(WRITE, checks=("test -f missing.txt",), check_retries=2)

    checked = [attempt for attempt in workshop.attempts(task) if attempt.kind == "check"]
    assert len(checked) == 3
    assert task.state is TaskState.needs_human


@pytest.mark.case("X13")
@EVERYWHERE
def test_what_a_check_writes_is_thrown_away_with_its_tree(workshop: Workshop) -> None:
    task = workshop.run(WRITE, checks=("cp a.txt written.txt",))

    assert task.state is TaskState.in_review
    assert workshop.changed(task.head) == ["M\ta.txt"]
    assert {row.state for row in workshop.allocations(task)} == {"released"}


def test_a_check_that_does_not_exist_fails_with_its_name(workshop: Workshop) -> None:
    program = workshop.folder / "no-such-program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    added = workshop.add(WRITE, checks=(f"{program} --flag",))
    program.unlink()

    task = workshop.work(added)

    last = workshop.attempts(task)[-1]
    assert (last.state, last.failure_code) == (AttemptState.failed, "check_not_found")
    assert "no-such-program" in last.failure
    assert task.state is TaskState.needs_human


@pytest.mark.case("A12")
def test_a_worker_that_serves_no_checks_releases_the_task_before_any_row(workshop: Workshop) -> None:
    task = workshop.add(WRITE, item("P1", edit("a.txt")), checks=("test -f a.txt",))

    rested = workshop.work(task, kinds=(AttemptKind.execute,))

    assert rested.state is TaskState.queued
    assert rested.next_kind == "check"
    assert [attempt.kind for attempt in workshop.attempts(task)] == ["execute"]
