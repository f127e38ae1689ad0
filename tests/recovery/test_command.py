"""`tasks recover` as people type it, against real kills, against itself, and against what cannot be recovered."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack

import pytest

from cli.pages.report_schemas import RecoveryDocument
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal
from tests.factories import a_fetched_repository, a_running_task, a_task, an_attempt, git
from tests.recovery.scenes import (
    HOLD,
    UNSAFE,
    a_dead_worker,
    end,
    everything,
    files,
    handle,
    kill_working,
    launched,
    orphan,
    quiet,
    workspaces,
)
from tests.store.scenes import asked
from tests.workshop import ROOT, Workshop


@pytest.fixture
def tasks(workshop: Workshop) -> Terminal:
    return Terminal(database_url=workshop.url, root=workshop.root.path, actor="ops")


@pytest.mark.case("R18", "R05", "C01")
def test_a_crash_is_told_first_and_repaired_next_in_the_same_words(
    workshop: Workshop, superuser_url: str, tasks: Terminal
) -> None:
    task = workshop.add(UNSAFE + HOLD)
    kill_working(workshop, superuser_url)
    quiet(handle(workshop, task))
    rows, disk = everything(superuser_url), files(workshop.root.path)

    dry = tasks.process("recover", "--dry-run", "--json")
    changed = everything(superuser_url) == rows, files(workshop.root.path) == disk
    wet = tasks.process("recover", "--json")
    again = tasks.process("recover")

    for done in (dry, wet):
        conforms(done.json, RecoveryDocument)
    assert (dry.code, wet.code, again.code) == (0, 0, 0)
    assert changed == (True, True)
    assert {**dry.json, "dry_run": False} == wet.json
    assert [(line["task"], line["what"]) for line in wet.json["lines"]] == [
        (task.id, "needs_human"),
        (task.id, "workspace_quarantined"),
    ]
    assert "nothing is left to recover" in again.out
    assert workshop.history(task)[-1].actor == "ops"


@pytest.mark.case("R10", "R14")
def test_what_has_to_wait_is_named_and_the_command_says_so_by_its_exit(
    workshop: Workshop, superuser_url: str, tasks: Terminal
) -> None:
    _, child = orphan(workshop, superuser_url, "env={}", kill_agent=True)
    other = a_running_task(workshop.database, workshop.add(""), worker=a_dead_worker(workshop.database))

    done = tasks.process("recover", "--json")
    told = tasks.process("recover")
    end(child)
    last = tasks.process("recover", "--json")

    assert (done.code, told.code, last.code) == (10, 10, 0)
    assert [(line["task"], line["what"]) for line in done.json["lines"]] == [(other.id, "queued")]
    assert [line["what"] for line in done.json["unfinished"]] == ["survivor_unproven"]
    assert f"task 1: what may be its agent is alive and not proven to be: {child} " in told.out


@pytest.mark.case("R08")
def test_two_recoveries_at_once_take_each_task_once(workshop: Workshop, superuser_url: str, tasks: Terminal) -> None:
    repository = a_fetched_repository(workshop.database, workshop.root, workshop.repository)
    base = git(workshop.repository, "rev-parse", "HEAD")
    worker = a_dead_worker(workshop.database)
    lost = [a_task(workshop.database, repository=repository, base=base) for _ in range(12)]
    for number, task in enumerate(lost):
        held = a_running_task(workshop.database, task, worker=worker)
        if number % 2:
            launched(workshop.database, an_attempt(workshop.database, held, launched=False), host="elsewhere")

    reports = [json.loads(said) for said in at_once(tasks, 2)]

    moved = Counter(line["task"] for report in reports for line in report["lines"] if line["what"] == "queued")
    assert moved == {task.id: 1 for task in lost}
    assert [report["unfinished"] for report in reports] == [[], []]
    assert asked(superuser_url, "SELECT event, count(*) FROM task_event GROUP BY event ORDER BY event") == [
        ("add", 12),
        ("claim", 12),
        ("requeue", 12),
    ]
    refs = workshop.refs()
    assert all(refs[f"refs/weighlock/{name}/{task.id}"] == base for name in ("tasks", "base") for task in lost)


def at_once(tasks: Terminal, count: int) -> list[bytes]:
    """Type the same command in several terminals."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "cli.main", "recover", "--json"],
                    env={**tasks.environment, "PATH": "/usr/bin:/bin", "HOME": str(tasks.root.parent)},
                    cwd=ROOT,
                    stdout=subprocess.PIPE,
                )
            )
            for _ in range(count)
        ]
        return [process.communicate()[0] for process in started]


def test_a_worker_repairs_what_the_last_one_left_before_it_claims(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add("turn == 1 and (ring(), hold())\nopen('a.txt', 'a').write('x\\n')\nring()\n")
    kill_working(workshop, superuser_url)

    with workshop.serving() as service:
        workshop.heard()
        service.terminate()

    assert service.wait() == 0
    assert workshop.events(task)[:5] == ["add", "claim", "take_over", "requeue", "claim"]
    assert workspaces(workshop.database, task)[0] == "quarantined"
