"""A pass that is told to end begins no other row, says so, and leaves the rest to the next one."""

import subprocess
from collections.abc import Callable
from itertools import count

import pytest

from recovery.passes import recover
from statemachine.tasks import TaskState
from store.engine import Database
from store.tasks import Task
from tests.factories import a_running_task
from tests.recovery.scenes import (
    HOLD,
    a_dead_worker,
    armed,
    go_on,
    kill,
    said,
    serving_with_a_git_that_stops,
    unsaid,
    until,
)
from tests.workshop import Workshop
from workspace.results.commits import Identity


def after(rows: int) -> Callable[[], bool]:
    """Make a sign that is put up once so many rows were begun."""
    asked = count()
    return lambda: next(asked) > rows


def states(workshop: Workshop, held: list[Task]) -> list[TaskState]:
    return [workshop.look(task).state for task in held]


@pytest.mark.case("R10")
def test_it_stops_between_two_rows_and_the_next_pass_does_the_rest(workshop: Workshop, database: Database) -> None:
    dead = a_dead_worker(database)
    held = [a_running_task(database, worker=dead) for _ in range(3)]

    first = recover(database, workshop.root, actor="recovery", identity=Identity(), stopping=after(1))
    between = states(workshop, held)
    second = workshop.recover()

    assert said(first) == [(held[0].id, "queued")]
    assert (unsaid(first), first.complete) == ([(None, "told_to_end")], False)
    assert between == [TaskState.queued, TaskState.running, TaskState.running]
    assert said(second) == [(task.id, "queued") for task in held[1:]]


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
    assert "not recovered yet: told_to_end" in told
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
