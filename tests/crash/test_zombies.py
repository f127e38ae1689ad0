"""A worker that slept past its lease wakes up at every named point, and changes nothing that counts."""

import pytest

from statemachine.tasks import TaskState
from tests.crash.scenes import APPEND, UNSAFE, Stage, between
from tests.recovery.scenes import everything, expire

pytestmark = [pytest.mark.case("A16", "R08")]

HELD = [point for point in between("claimed", "settling") if point != "exported"]


def slept(stage: Stage, point: str, script: str) -> tuple[TaskState, dict[str, list[str]]]:
    """Stop a worker at a point, let its lease run out and its task be taken over and done, and wake it up."""
    task = stage.add(script)
    with stage.stopped_at(point, "work", "--once"):
        expire(stage.superuser_url, task)
        rested = stage.repaired(task)
        before = everything(stage.superuser_url, without=("worker",))
    assert everything(stage.superuser_url, without=("worker",)) == before
    return rested.state, before


@pytest.mark.parametrize("point", HELD)
def test_a_zombie_that_wakes_changes_no_row_and_no_commit(stage: Stage, point: str) -> None:
    state, _ = slept(stage, point, APPEND)
    report = stage.workshop.recover()

    assert stage.wrongs() == []
    assert (state, report.complete) == (TaskState.in_review, True)


@pytest.mark.parametrize("point", ["agent_ended", "screened", "exported"])
def test_a_zombie_that_saw_something_unsafe_adds_no_second_finding(stage: Stage, point: str) -> None:
    state, rows = slept(stage, point, UNSAFE)
    stage.workshop.recover()

    assert stage.wrongs() == []
    assert (state, len(rows["finding"])) == (TaskState.needs_human, 1)
