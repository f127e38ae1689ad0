import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.pages.report_schemas import WorkDocument
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import REPOSITORY, Terminal

PLAN = """\
title: Say more
base: main
target: main
items:
  - id: P1
    title: Say more
    intent: Say more.
    files:
      - edit: README.md
"""


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    (tmp_path / "plan.yaml").write_text(PLAN)
    return Terminal(database_url=database_url, root=tmp_path / "root")


def added(tasks: Terminal, source: Path, agent: str = "sh -c 'echo more >> README.md'") -> int:
    done = tasks("add", source.parent / "plan.yaml", "--repo", source, "--agent", agent, "--json")
    identity = done.json["id"]
    assert isinstance(identity, int)
    return identity


def states(tasks: Terminal) -> list[str]:
    return [each["state"] for each in tasks("list", "--json").json]


@pytest.mark.case("C01")
def test_once_works_until_nothing_is_claimable(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    for _ in range(2):
        added(tasks, source)

    done = tasks.process("work", "--once", "--slots", 2, "--json")

    assert done.code == 0
    conforms(done.json, WorkDocument)
    assert (done.json["slots"], done.json["executors"], done.json["once"]) == (2, ["local"], True)
    assert states(tasks) == ["in_review", "in_review"]


def test_a_worker_says_who_it_is_and_what_it_does_not_protect(tasks: Terminal) -> None:
    done = tasks.process("work", "--once")

    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].startswith("worker ann@")
    assert lines[1] == "executor local protects nothing but the result: see tasks doctor"
    assert lines[-1] == "next: tasks list"


@pytest.mark.case("A12")
def test_a_worker_takes_only_the_kinds_it_was_started_for(tasks: Terminal, tmp_path: Path) -> None:
    added(tasks, factories.a_repository(tmp_path))

    done = tasks.process("work", "--once", "--kinds", "check,review")

    assert (done.code, states(tasks)) == (0, ["queued"])


@pytest.mark.parametrize(
    ("options", "exit_code", "code"),
    [
        (["--kinds", "execute,sing"], 2, "usage"),
        (["--slots", "0"], 2, "usage"),
        (["--executors", "moon"], 3, "executor_unknown"),
        (["--executors", "local,docker"], 3, "executor_unavailable"),
    ],
)
def test_a_worker_that_could_not_work_does_not_start(
    tasks: Terminal, options: list[str], exit_code: int, code: str
) -> None:
    done = tasks.process("work", "--once", *options, "--json")

    assert (done.code, done.out, done.error["code"]) == (exit_code, "", code)


@pytest.mark.case("R15")
def test_a_worker_told_to_stop_puts_its_task_back_and_ends_well(tasks: Terminal, tmp_path: Path) -> None:
    began = tmp_path / "began"
    os.mkfifo(began)
    added(tasks, factories.a_repository(tmp_path), f"sh -c 'echo here > {began}; exec tail -f /dev/null'")
    environment = {**os.environ, **tasks.environment, "PYTHONPATH": str(REPOSITORY)}

    with subprocess.Popen([sys.executable, "-m", "cli.main", "work", "--quiet"], env=environment) as worker:
        began.read_text()
        worker.send_signal(signal.SIGTERM)
        ended = worker.wait(timeout=60)

    assert ended == 0
    assert states(tasks) == ["queued"]


def test_a_worker_that_ends_names_the_one_gate_that_waits(tasks: Terminal, tmp_path: Path) -> None:
    task = added(tasks, factories.a_repository(tmp_path), "false")

    done = tasks.process("work", "--once")

    assert done.out.endswith(f"next: tasks gate show {task}\n      tasks list\n")
