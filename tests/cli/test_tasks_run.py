import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from cli.frame.identifiers import Noun, short
from cli.pages.schemas import TaskDocument
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import REPOSITORY, Done, Terminal
from tests.sandboxes import needs_sandbox

AGENTS = {
    "good": "echo working on $TASKS_ITEM; echo $TASKS_ITEM >> README.md",
    "straying": "echo more >> README.md; echo surprise > extra.txt",
    "linking": "echo more >> README.md; ln -s /etc/passwd 'li\x1b[31mnk'",
    "failing": "echo something 'went \x1b[31mwrong'; exit 3",
    "idle": "true",
}
FIRST: dict[str, object]
FIRST, SECOND = (
    {"id": name, "title": title, "intent": "Do it.", "retries": 0, "files": [{"edit": "README.md"}]}
    for name, title in (("P1", "First"), ("P2", "Second"))
)
PLAN = {
    "title": "Retry uploads",
    "base": "main",
    "target": "main",
    "items": [FIRST, SECOND],
}


@dataclass(frozen=True, slots=True)
class Desk:
    """A person with a repository, a plan and agents."""

    folder: Path
    source: Path
    tasks: Terminal

    def plan(self, **changes: object) -> Path:
        file = self.folder / "plan.json"
        file.write_text(json.dumps({**PLAN, **changes}), encoding="utf-8")
        return file

    def agent(self, name: str) -> str:
        """Write one of the agents, or one of a script of its own."""
        file = self.folder / f"agent-{name if name in AGENTS else 'of its own'}"
        file.write_text(f"#!/bin/sh\n{AGENTS.get(name, name)}\n", encoding="utf-8")
        file.chmod(0o755)
        return shlex.quote(str(file))

    def run(self, agent: str, *options: str, **changes: object) -> Done:
        line = ["run", self.plan(**changes), "--repo", self.source, "--agent", self.agent(agent), *options]
        return self.tasks.process(*line)


@pytest.fixture
def desk(database_url: str, tmp_path: Path) -> Desk:
    terminal = Terminal(database_url=database_url, root=tmp_path / "root")
    return Desk(tmp_path, factories.a_repository(tmp_path), terminal)


def everything_of(source: Path) -> dict[str, bytes]:
    """Read a person's repository: work tree, refs, index, config and objects."""
    files = (path for path in sorted(source.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(source)): path.read_bytes() for path in files}


@pytest.mark.case("C01")
@pytest.mark.case("K01")
def test_a_plan_runs_to_its_review_and_the_persons_repository_is_only_read(desk: Desk) -> None:
    before = everything_of(desk.source)

    done = desk.run("good", "--json")

    assert done.code == 0
    conforms(done.json, TaskDocument)
    assert done.json["state"] == "in_review"
    assert [item["state"] for item in done.json["items"]] == ["done", "done"]
    assert [attempt["exit_code"] for attempt in done.json["attempts"]] == [0, 0]
    assert everything_of(desk.source) == before


def test_a_run_says_what_is_not_protected_how_it_rests_and_what_to_type(desk: Desk) -> None:
    done = desk.run("good")

    lines = done.out.splitlines()
    assert lines[0] == "task 1 is added"
    assert lines[1] == "executor local protects nothing but the result: see tasks doctor"
    assert lines[2] == "task 1 is in_review and waits for you (review): every item is done"
    assert [line.split()[:2] for line in lines[4:6]] == [["P1", "done"], ["P2", "done"]]
    assert lines[-3:] == [
        "next: tasks diff 1",
        "      tasks gate approve 1",
        "      tasks gate reject 1 --guidance TEXT   # sends it back with your words",
    ]
    assert "P1" in done.err


@pytest.mark.parametrize(
    ("agent", "kind", "item", "typed"),
    [
        ("straying", "scope", "done", "tasks gate approve 1 --amend"),
        ("linking", "finding", "failed", "tasks gate approve 1 --accept 1 --reason TEXT --guidance TEXT"),
        ("failing", "failure", "failed", "tasks gate approve 1"),
    ],
)
@pytest.mark.case("C03")
def test_a_run_that_waits_for_a_person_ends_with_10_and_its_kind(
    desk: Desk, agent: str, kind: str, item: str, typed: str
) -> None:
    done = desk.run(agent)
    document = desk.tasks("show", 1, "--json").json

    assert done.code == 10
    assert document["gate"]["kind"] == kind
    assert [each["state"] for each in document["items"]] == [item, "waiting"]
    assert "next: tasks gate show 1\n" in done.out
    assert f"      {typed}\n" in done.out
    page = desk.tasks("gate", "show", 1)
    assert "\x1b" not in done.out + done.err + page.out


def test_the_page_after_a_failure_shows_what_the_agent_said_last(desk: Desk) -> None:
    desk.run("failing")

    page = desk.tasks("gate", "show", 1).out

    name = short(Noun.attempt, UUID(desk.tasks("show", 1, "--json").json["attempts"][0]["id"].removeprefix("a-")))
    said = f"the agent said last (all of it: tasks attempt log {name}):"
    assert f"{said}\n  | something went \\x1b[31mwrong\n" in page


def test_the_page_after_a_finding_shows_what_was_not_committed(desk: Desk) -> None:
    desk.run("linking")

    page = desk.tasks("gate", "show", 1)

    assert "what was not committed:\n" in page.out
    assert "+more\n" in page.out
    assert "+more\n" in desk.tasks("gate", "show", 1, "--json").json["partial"]


def test_a_plan_that_asks_first_waits_for_approval_and_goes_on_by_itself(desk: Desk) -> None:
    asked = desk.run("good", "--json", approval="before")
    approved = desk.tasks("gate", "approve", 1, "--json")
    worked = desk.tasks.process("work", "--once", "--json")

    assert (asked.code, asked.json["gate"]["kind"]) == (10, "approval")
    assert approved.json["state"] == "queued"
    assert worked.code == 0
    assert desk.tasks("show", 1, "--json").json["state"] == "in_review"


def test_out_of_scope_work_is_amended_worked_on_reviewed_and_merged(desk: Desk) -> None:
    assert desk.run("straying", items=[FIRST]).code == 10
    assert desk.tasks("gate", "approve", 1, "--amend").code == 0
    assert desk.tasks.process("work", "--once").code == 0
    assert desk.tasks("gate", "approve", 1, "--as", "rev").code == 0

    done = desk.tasks("merge", 1, "--json")

    assert (done.code, done.json["state"]) == (0, "merged")
    assert (desk.source / "extra.txt").read_text() == "surprise\n"


@pytest.mark.parametrize(
    ("changes", "options", "code"),
    [
        ({"base": "gone"}, [], "base_missing"),
        ({}, ["--executor", "docker"], "executor_unavailable"),
        ({}, ["--executor", "moon"], "executor_unknown"),
        ({}, ["--agent", "/no/such/agent"], "agent_not_found"),
        ({}, ["--repo", "/no/such/folder"], "source_not_a_repository"),
        ({"items": []}, [], "plan_invalid"),
        ({"fixed_if": "true"}, [], "plan_unsupported"),
        ({"items": [{**FIRST, "files": [{"edit": "no.txt"}]}]}, [], "plan_invalid"),
    ],
)
@pytest.mark.case("C02")
def test_bad_input_is_refused_by_name_and_leaves_no_task(
    desk: Desk, changes: dict[str, object], options: list[str], code: str
) -> None:
    done = desk.run("good", "--json", *options, **changes)

    assert (done.code, done.out, done.error["code"]) == (3, "", code)
    assert done.error["hint"]
    assert "Traceback" not in done.err
    assert desk.tasks("list", "--json").json == []


def test_a_plan_without_an_agent_wants_one(desk: Desk) -> None:
    done = desk.tasks("add", desk.plan(), "--repo", desk.source, "--json")

    typed = f"tasks add {desk.plan()} --repo {desk.source} --agent 'COMMAND'"
    assert (done.code, done.error["code"], done.error["hint"]) == (3, "agent_missing", typed)


def test_add_queues_a_task_for_later(desk: Desk) -> None:
    line = ["add", desk.plan(), "--repo", desk.source, "--agent", "true", "--not-before", "2999-01-01T00:00Z"]

    done = desk.tasks(*line, "--priority", 5, "--json")
    worked = desk.tasks.process("work", "--once")

    conforms(done.json, TaskDocument)
    assert (done.code, done.json["state"], done.json["priority"]) == (0, "queued", 5)
    assert worked.code == 0
    assert desk.tasks("show", 1, "--json").json["state"] == "queued"
    assert desk.tasks(*line[:-1], "tomorrow", "--json").error["code"] == "usage"


def test_a_run_ends_with_12_where_somebody_cancelled_its_task(desk: Desk, tmp_path: Path) -> None:
    began = tmp_path / "began"
    os.mkfifo(began)
    hold = f"echo here > {began}; exec tail -f /dev/null"

    with a_running(desk, hold) as process:
        began.read_text()
        assert desk.tasks("cancel", 1, "--reason", "enough").code == 0
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 12
    assert json.loads(out)["state"] == "cancelled"


def test_an_interrupted_run_leaves_its_task_to_go_on(desk: Desk, tmp_path: Path) -> None:
    began = tmp_path / "began"
    os.mkfifo(began)
    hold = f"echo here > {began}; exec tail -f /dev/null"

    with a_running(desk, hold) as process:
        began.read_text()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    document = json.loads(out)
    assert document["state"] == "queued"
    assert [attempt["state"] for attempt in document["attempts"]] == ["stopped"]


def a_running(desk: Desk, agent: str) -> "subprocess.Popen[str]":
    line = ["run", desk.plan(), "--repo", desk.source, "--agent", desk.agent(agent), "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", *map(str, line)],
        env={**os.environ, **desk.tasks.environment, "PYTHONPATH": str(REPOSITORY)},
        cwd=desk.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.case("C05")
def test_a_run_needs_no_configuration_and_no_server(
    state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_sandbox()
    monkeypatch.setenv("HOME", str(state_folder))
    source = factories.a_repository(tmp_path)
    desk = Desk(tmp_path, source, Terminal(database_url="", root=tmp_path))
    unset = dict.fromkeys(desk.tasks.environment, "")
    line = ["run", desk.plan(), "--repo", ".", "--agent", desk.agent("good"), "--json"]

    done = desk.tasks.process(*line, cwd=source, environment=unset)
    board = desk.tasks.process("list", "--json", cwd=source, environment=unset)

    assert (done.code, done.json["state"]) == (0, "in_review")
    assert [each["id"] for each in board.json] == [1]
    assert Path(done.json["repository"]["runner_path"]).is_relative_to(state_folder)


def test_a_relative_path_of_an_agent_is_meant_from_the_current_folder(desk: Desk) -> None:
    desk.agent("good")
    line = ["run", desk.plan(), "--repo", desk.source, "--agent", "./agent-good"]

    done = desk.tasks.process(*line, cwd=desk.folder)
    elsewhere = desk.tasks.process(*line, "--json", cwd=desk.source)

    assert done.code == 0
    assert (elsewhere.code, elsewhere.error["code"]) == (3, "agent_not_found")


def test_a_task_whose_merge_would_make_a_branch_says_so_when_it_is_added(desk: Desk) -> None:
    done = desk.tasks("add", desk.plan(target="nosuch"), "--repo", desk.source, "--agent", desk.agent("good"))

    assert done.code == 0
    assert done.err == f'warning: {desk.source} has no branch "nosuch"; a merge will create it\n'


def test_a_repository_without_a_commit_wants_a_first_one(desk: Desk) -> None:
    empty = desk.folder / "empty"
    empty.mkdir()
    factories.git(empty, "init", "--quiet", "--initial-branch=main")

    done = desk.tasks("add", desk.plan(), "--repo", empty, "--agent", desk.agent("good"))

    assert f"{empty} has no commit yet [base_missing]\nnext: git -C {empty} commit" in done.err
