"""A pass that is told to end begins no other row, says so, and leaves the rest to the next one."""

import subprocess

import pytest

from statemachine.tasks import TaskState
from store.tasks import Task
from tests.recovery.scenes import (
    HOLD,
    armed,
    go_on,
    kill,
    serving_with_a_git_that_stops,
    until,
)
from tests.workshop import Workshop


def states(workshop: Workshop, held: list[Task]) -> list[TaskState]:
    return [workshop.look(task).state for task in held]


@pytest.mark.case("R15")
def test_a_worker_told_to_end_finishes_the_row_at_hand_and_says_what_is_left(
    workshop: Workshop, superuser_url: str
) -> None:
    held = [workshop.add("open('a.txt', 'a').write('half')\n" + HOLD) for _ in range(2)]
    with workshop.serving("--slots", 2) as service:
        workshop.heard()
        kill_both(workshop, service, superuser_url)
    armed(workshop).touch()

    with serving_with_a_git_that_stops(workshop, " ls-tree ", stdout=subprocess.PIPE) as service:
        workshop.heard()  # it inspects what the first one left
        service.terminate()
        armed(workshop).unlink()
        go_on(workshop)
        told, code = (service.stdout.read() if service.stdout else b"").decode(), service.wait()

    assert code == 0
    assert "not recovered yet: the process was told to end before this pass did" in told
    assert states(workshop, held) == [TaskState.queued, TaskState.running]
    assert [attempt.state for attempt in workshop.attempts(held[1])] == ["running"]
    workshop.recover()
    assert states(workshop, held) == [TaskState.queued, TaskState.queued]


def kill_both(workshop: Workshop, service: "subprocess.Popen[bytes]", superuser_url: str) -> None:
    """Kill a worker once each of its two tasks has an agent."""
    until(lambda: all(rung(workshop)), "both agents run")
    kill(service, superuser_url)


def rung(workshop: Workshop) -> list[bool]:
    return [path.exists() for path in (workshop.folder / "agent-0.turns", workshop.folder / "agent-1.turns")]
