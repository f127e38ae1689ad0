"""Trees on hosts that recovery does not run on: their tasks go on without them, and their own host judges them late."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

import pytest

from recovery.reports import Report
from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from store.tasks import Task
from tests.agents import is_alive
from tests.factories import a_running_task, an_attempt
from tests.recovery.scenes import (
    HOLD,
    PARTIAL,
    UNSAFE,
    end,
    everything,
    expire,
    handle,
    kill,
    launched,
    quiet,
    said,
    unsaid,
    workspaces,
)
from tests.store.scenes import aged, asked, cancel
from tests.workshop import Workshop
from workspace.agents.hosts import Host

S, A = TaskState, AttemptState
ELSEWHERE = Host(id="elsewhere", boot="boot", pid=1, started="1")
UNSAFE_FIRST = f"turn == 1 and ({UNSAFE.strip()}, ring(), hold())\nopen('a.txt', 'a').write('x\\n')\n"


def recovered_elsewhere(workshop: Workshop) -> Report:
    """Recover on another host of the same database, which has none of this one's folders and processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recovery.passes.this_host", lambda: ELSEWHERE)
        return workshop.recover(brief=True)


@contextmanager
def partitioned(workshop: Workshop, superuser_url: str, task: Task) -> Iterator[Popen[bytes]]:
    """Let a worker be silent past its lease while its agent lives on."""
    with workshop.serving() as worker:
        workshop.heard()
        worker.send_signal(signal.SIGSTOP)
        expire(superuser_url, task)
        yield worker


def left_here(workshop: Workshop, superuser_url: str, script: str) -> Task:
    """Have another host take over a task whose tree lies here, with its worker and its agent dead."""
    task = workshop.add(script)
    with partitioned(workshop, superuser_url, task) as worker:
        recovered_elsewhere(workshop)
        seen = handle(workshop, task)
        kill(worker, superuser_url)
    quiet(seen)
    return task


def unjudged(superuser_url: str) -> int:
    return len(asked(superuser_url, "SELECT FROM allocation WHERE unjudged"))


@pytest.mark.case("R21", "R01", "R09")
def test_the_task_goes_on_elsewhere_and_what_was_left_here_is_judged_when_this_host_recovers(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(UNSAFE_FIRST)
    with partitioned(workshop, superuser_url, task) as worker:
        first, agent = recovered_elsewhere(workshop), handle(workshop, task)
        owed = workshop.kinds(task), unjudged(superuser_url)
        rested, lived_on = workshop.work(task), is_alive(agent.pid)
        kill(worker, superuser_url)
    quiet(agent)

    late, again = workshop.recover(), workshop.recover()

    lost, done = workshop.attempts(task)
    assert said(first) == [(task.id, "queued"), (task.id, "workspace_quarantined")]
    assert (lost.state, lost.failure) == (A.interrupted, "its workspace is on another host")
    assert (owed, lived_on, rested.state) == (([], 1), True, S.in_review)
    assert [what for _, what in said(late)] == ["tree_judged"]
    assert "attempt 1 left on this host was judged: new_symlink" in late.lines[0].detail
    assert (workshop.kinds(task), workshop.look(task).state) == (["new_symlink"], S.needs_human)
    assert [(finding.attempt_id, finding.late) for finding in workshop.findings(task)] == [(lost.id, False)]
    assert {(output.attempt_id, output.kind) for output in workshop.outputs(task)} == {
        (done.id, "log"),
        (lost.id, "diff"),
    }
    assert (workshop.look(task).head, unjudged(superuser_url)) == (rested.head, 0)
    assert (said(again), unsaid(again)) == ([], [])


@pytest.mark.case("R08", "A16")
@pytest.mark.hazard("H107")
def test_a_late_result_is_refused_once_the_next_attempt_is_there(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(PARTIAL)
    with partitioned(workshop, superuser_url, task) as zombie:
        recovered_elsewhere(workshop)
        agent = handle(workshop, task)
        held = a_running_task(workshop.database, task)
        an_attempt(workshop.database, held, launched=False)
        end(agent.pid)
        before = everything(superuser_url, without=("worker",))
        zombie.terminate()
        zombie.send_signal(signal.SIGCONT)
        zombie.wait()

        assert everything(superuser_url, without=("worker",)) == before
    assert [attempt.state for attempt in workshop.attempts(task)] == [A.interrupted, A.pending]


@pytest.mark.case("R21", "F20")
def test_what_is_found_for_a_closed_task_is_late(workshop: Workshop, superuser_url: str) -> None:
    task = left_here(workshop, superuser_url, UNSAFE + HOLD)
    cancel(workshop.database, task)

    report = workshop.recover()

    assert [(finding.kind, finding.late) for finding in workshop.findings(task)] == [("new_symlink", True)]
    assert (workshop.look(task).state, unsaid(report)) == (S.cancelled, [])


@pytest.mark.case("R21", "R06")
def test_what_is_safe_is_kept_and_owes_nothing(workshop: Workshop, superuser_url: str) -> None:
    task = left_here(workshop, superuser_url, PARTIAL)

    report = workshop.recover()

    assert (workshop.kinds(task), workshop.look(task).state) == ([], S.queued)
    assert [output.kind for output in workshop.outputs(task)] == ["diff"]
    assert report.lines[0].detail.endswith("nothing unsafe")


@pytest.mark.case("R21", "R10", "R18")
def test_a_tree_that_cannot_be_judged_yet_stays_marked_and_a_dry_run_judges_it_without_a_trace(
    workshop: Workshop, superuser_url: str
) -> None:
    task = left_here(workshop, superuser_url, UNSAFE + HOLD)
    place, away = workshop.runner().path, workshop.folder / "away"
    place.rename(away)

    unread = workshop.recover()
    marked = unjudged(superuser_url)
    away.rename(place)
    dry = workshop.recover(dry_run=True)
    rows = everything(superuser_url)
    wet = workshop.recover()

    assert (unsaid(unread)[0], marked) == ((task.id, "repository_missing"), 1)
    assert (dry.lines[0].what, everything(superuser_url) == rows) == ("tree_judged", False)
    assert (wet.lines, workshop.kinds(task)) == (dry.lines, ["new_symlink"])


@pytest.mark.case("R21")
def test_only_what_an_agent_could_write_to_is_marked(workshop: Workshop, superuser_url: str) -> None:
    writing, pending = (a_running_task(workshop.database, workshop.add("")) for _ in range(2))
    launched(workshop.database, an_attempt(workshop.database, writing, launched=False), host="far")
    an_attempt(workshop.database, pending, launched=False)
    expire(superuser_url, writing, pending)

    workshop.recover()

    assert workspaces(workshop.database, writing) == ["quarantined"]
    assert asked(superuser_url, "SELECT task_id FROM allocation WHERE unjudged") == [(writing.id,)]


@pytest.mark.case("R21", "F16")
def test_a_workspace_nobody_judged_cannot_be_given_back(workshop: Workshop, superuser_url: str) -> None:
    left_here(workshop, superuser_url, PARTIAL)

    with pytest.raises(Exception, match="allocation_judged"):
        aged(superuser_url, "UPDATE allocation SET state = 'released'")
