"""Workers that are killed between two of their steps: before the agent, around the commit, around the last write."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

import screening
from cli.acts import working
from recovery.passes import recover
from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from store.engine import open_database
from tests.recovery.scenes import (
    HOLD,
    UNSAFE,
    a_git_that_stops,
    admit,
    armed,
    arming,
    everything,
    expire,
    go_on,
    kill_at,
    kill_working,
    said,
    shut,
    unsaid,
    without_workspaces,
)
from tests.store.scenes import asked
from tests.workshop import ROOT, Workshop, edit, item
from workspace.results.commits import Identity

APPEND = "open({'P1': 'a.txt', 'P2': 'src/x.py'}[item], 'a').write(f'# {item}\\n')\n"
TWO = (item("P1", edit("a.txt")), item("P2", edit("src/x.py")))

MATERIALISE = " ls-tree "
UPDATE = " update-ref "
PUBLISH = " for-each-ref "


@pytest.mark.case("R01", "W03")
def test_killed_before_the_agent_started_nothing_is_inspected_and_the_workspace_fails(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(APPEND)
    armed(workshop).touch()
    kill_at(workshop, superuser_url, MATERIALISE)
    (left,) = workshop.allocations(task)

    report = workshop.recover()

    (attempt,), (allocation,) = workshop.attempts(task), workshop.allocations(task)
    assert left.state == "reserved"
    assert said(report) == [(task.id, "queued"), (task.id, "workspace_failed")]
    assert (attempt.state, attempt.started_at) == (AttemptState.interrupted, None)
    assert (allocation.state, allocation.path) == (
        "failed",
        str(workshop.root.workspaces / f"{task.id}-1-{left.id.hex}"),
    )
    assert workshop.work(task).state is TaskState.in_review


@pytest.mark.case("R13", "R01")
def test_killed_after_the_commit_and_before_its_row_the_ref_is_pruned_and_the_item_runs_again(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(arming(workshop) + APPEND)
    kill_at(workshop, superuser_url, UPDATE, after=True)
    without_workspaces(workshop)
    ref = f"refs/weighlock/attempts/{workshop.attempts(task)[0].id}"
    orphan = workshop.refs()[ref]

    report = workshop.recover()

    assert orphan != task.base
    assert said(report) == [(task.id, "queued"), (task.id, "workspace_quarantined"), (task.id, "refs_repaired")]
    assert workshop.attempts(task)[0].state is AttemptState.interrupted
    assert (workshop.ledger(task), workshop.look(task).head) == ([], task.base)
    assert ref not in workshop.refs()
    assert workshop.work(task).state is TaskState.in_review


@pytest.mark.case("F16")
def test_killed_right_before_the_last_write_the_finding_is_found_again_from_the_tree(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(UNSAFE + "open('a.txt', 'a').write('x\\n')\n" + arming(workshop))
    kill_at(workshop, superuser_url, UPDATE, after=True)
    before = workshop.findings(task)

    report = workshop.recover()

    assert (before, workshop.kinds(task)) == ([], ["new_symlink"])
    assert workshop.look(task).state is TaskState.needs_human
    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.failure_code, attempt.exit_code) == (AttemptState.failed, "unsafe", 0)
    assert (unsaid(report), attempt.failure) == ([], "")
    assert sorted(output.kind for output in workshop.outputs(task)) == ["diff", "log"]


@pytest.mark.case("F16", "R01")
def test_killed_right_after_the_last_write_the_finding_is_there_and_stays_one(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(UNSAFE + arming(workshop))
    kill_at(workshop, superuser_url, PUBLISH)
    before = workshop.findings(task)

    report = workshop.recover()

    assert [finding.kind for finding in before] == ["new_symlink"]
    assert workshop.findings(task) == before
    assert said(report) == [(task.id, "workspace_quarantined"), (task.id, "scraps_removed")]
    assert workshop.events(task) == ["add", "claim", "raise_finding"]


@pytest.mark.case("R20", "R02", "R13")
def test_killed_between_the_last_write_and_its_refs_the_next_claim_starts_at_the_first_undone_item(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(arming(workshop) + APPEND, *TWO)
    kill_at(workshop, superuser_url, PUBLISH)
    (done,) = workshop.ledger(task)
    behind = workshop.refs()

    report = workshop.recover()
    queued = workshop.look(task)
    rested = workshop.work(task)

    assert behind[f"refs/weighlock/tasks/{task.id}"] == task.base
    seen = ["queued", "workspace_quarantined", "refs_repaired", "scraps_removed"]
    assert said(report) == [(task.id, what) for what in seen]
    assert (queued.state, queued.head, queued.losses) == (TaskState.queued, done.commit, 0)
    assert workshop.findings(task) == []
    assert [attempt.item_id for attempt in workshop.attempts(task)] == ["P1", "P2"]
    assert [row.state for row in workshop.allocations(task)] == ["quarantined", "released"]
    assert (rested.state, workshop.show(rested.head, "a.txt")) == (TaskState.in_review, "a\n# P1")


@pytest.mark.case("R01", "R20")
def test_killed_with_nothing_left_to_run_the_next_claim_submits(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(arming(workshop) + APPEND)
    kill_at(workshop, superuser_url, PUBLISH)

    report = workshop.recover()
    queued = workshop.look(task)
    rested = workshop.work(task)

    assert said(report)[0] == (task.id, "queued")
    assert queued.state is TaskState.queued
    assert (rested.state, len(workshop.attempts(task))) == (TaskState.in_review, 1)
    assert workshop.events(task) == ["add", "claim", "settle", "requeue", "claim", "submit"]


# ---------------------------------------------------------------- recoveries that die, sleep, or lose their database


@contextmanager
def recovering(workshop: Workshop) -> Iterator["subprocess.Popen[str]"]:
    """Run `tasks recover` as a process of its own up to where it looks at a tree."""
    armed(workshop).touch()
    environment = {
        **os.environ,
        "PATH": a_git_that_stops(workshop, MATERIALISE),
        "TASKS_DATABASE_URL": workshop.url,
        "TASKS_ROOT": str(workshop.root.path),
        "TASKS_CONFIG": str(workshop.config),
        "TASKS_EXECUTOR": workshop.executor,
    }
    command = [sys.executable, "-m", "cli.main", "recover", "--json"]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) as recovery:
        workshop.heard()
        yield recovery
    armed(workshop).unlink()


@pytest.mark.case("R08")
def test_a_recovery_killed_while_it_inspects_is_taken_over_at_once(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(UNSAFE + HOLD)
    kill_working(workshop, superuser_url)
    with recovering(workshop) as recovery:
        recovery.kill()
    leased = asked(superuser_url, "SELECT lease_expires > now() FROM task WHERE id = %s", task.id)

    report = workshop.recover()

    assert leased == [(True,)]
    assert said(report)[0] == (task.id, "needs_human")
    assert workshop.kinds(task) == ["new_symlink"]
    assert workshop.events(task) == ["add", "claim", "take_over", "take_over", "raise_finding"]
    folder = workshop.root.attempts / str(workshop.attempts(task)[0].id)
    assert [each.name for each in folder.iterdir() if each.is_dir()] == []


@pytest.mark.case("R08")
def test_a_recovery_that_slept_past_its_lease_changes_no_row_when_it_wakes(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(UNSAFE + HOLD)
    kill_working(workshop, superuser_url)
    with recovering(workshop) as sleeper:
        untouched = workshop.recover()
        expire(superuser_url, task)
        report = workshop.recover()
        before = everything(superuser_url, without=("worker",))
        go_on(workshop)
        told = json.loads(sleeper.communicate()[0])

    assert (said(untouched), said(report)[0]) == ([], (task.id, "needs_human"))
    assert (sleeper.returncode, told["unfinished"]) == (0, [])
    assert [line["what"] for line in told["lines"]] == ["left_alone"]
    assert everything(superuser_url, without=("worker",)) == before


@pytest.mark.case("R10")
def test_a_database_that_goes_away_under_a_pass_ends_it_and_the_next_one_of_the_same_process_finishes_it(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = workshop.add(UNSAFE + HOLD)
    kill_working(workshop, superuser_url)
    name = asked(superuser_url, "SELECT current_database()")[0][0]
    impatient = open_database(workshop.url, state=workshop.folder, name="test", patience=timedelta(milliseconds=1))
    judge = screening.judge

    def judge_alone(**given: Any) -> screening.Verdict:
        shut(superuser_url, name)
        return judge(**given)

    with monkeypatch.context() as patch:
        patch.setattr("screening.judge", judge_alone)
        broken = recover(impatient, workshop.root, actor="recovery", identity=Identity(), conclude=working.conclude)
    impatient.close()
    admit(superuser_url, name)
    leased = asked(superuser_url, "SELECT state, lease_expires > now() FROM task WHERE id = %s", task.id)
    report = workshop.recover()

    assert (unsaid(broken), leased) == ([(None, "database_unreachable")], [("running", True)])
    assert (said(report)[0], workshop.kinds(task)) == ((task.id, "needs_human"), ["new_symlink"])
