"""A worker that was told to end is killed at every named point of its shutdown; nothing waits for it."""

import signal

import pytest

from statemachine.tasks import TaskState
from tests.crash.scenes import UNSAFE, WAITING, Stage, at, between

pytestmark = [pytest.mark.case("R03"), pytest.mark.hazard("H102")]

SHUTDOWN = between("drain_written", "worker_gone")
ON_THE_WAY = ["agent_ended", "inspected", "exported", "settling", "settled", "space_released"]


def told_to_end(stage: Stage, point: str) -> None:
    """Serve until the agent rings, say SIGTERM, and see the worker die at a point of its shutdown."""
    with stage.process("work", fail_at=point) as worker:
        stage.workshop.heard()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait() == -signal.SIGKILL, f"it never got to {point}"
    stage.seen_gone(worker)


@at([*SHUTDOWN, *ON_THE_WAY])
def test_killed_at_any_point_of_its_shutdown_its_task_goes_on_elsewhere(stage: Stage, point: str) -> None:
    task = stage.add(WAITING)
    told_to_end(stage, point)

    rested = stage.repaired(task)

    first, second = stage.workshop.attempts(task)
    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.show(rested.head, "a.txt")) == (TaskState.in_review, "a\nP1")
    assert (first.state, second.state) in {("stopped", "completed"), ("interrupted", "completed")}


@at(["inspected", "settled", "tasks_rested"])
def test_what_an_agent_did_before_the_shutdown_is_found_all_the_same(stage: Stage, point: str) -> None:
    task = stage.add(UNSAFE + WAITING)
    told_to_end(stage, point)

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.kinds(task)) == (TaskState.needs_human, ["new_symlink"])
