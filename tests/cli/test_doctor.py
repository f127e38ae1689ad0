import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cli.pages.report_schemas import DoctorDocument
from statemachine.allocations import AllocationState
from store import allocations
from store.engine import Database
from store.tasks import Task
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Done, Terminal
from tests.sandboxes import needs_sandbox
from workspace import executors
from workspace.agents.hosts import host_id
from workspace.executors import bubblewrap


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


def verdicts(done: Done) -> dict[str, Any]:
    return {each["name"]: each for each in done.json["checks"]}


@pytest.mark.case("C01")
def test_a_sound_installation_is_told_setting_by_setting(tasks: Terminal) -> None:
    done = tasks("doctor", "--json")
    shown = tasks("doctor").out

    conforms(done.json, DoctorDocument)
    assert done.code == 0
    assert {name: each["verdict"] for name, each in verdicts(done).items()} == {
        "git": "ok",
        "root": "ok",
        "database": "ok",
        "executor": "warn",
        "leftovers": "ok",
    }
    settings = {each["name"]: each for each in done.json["settings"]}
    assert settings["actor"] == {"name": "actor", "value": "ann", "origin": "the variable TASKS_ACTOR"}
    assert settings["lease"]["origin"] == "default"
    assert verdicts(done)["executor"]["found"] == executors.find("local").unprotected
    assert "the variable TASKS_ROOT" in shown


def test_a_sandbox_that_works_is_told_with_who_agents_are(database_url: str, tmp_path: Path) -> None:
    needs_sandbox()
    tasks = Terminal(database_url=database_url, root=tmp_path / "root", executor="sandbox")

    found = verdicts(tasks("doctor", "--json"))["executor"]

    assert found["verdict"] == "ok"
    assert re.fullmatch(r"sandbox works; agents run as user [1-9]\d*, network off, limits kept .*", found["found"])


@pytest.mark.case("W20")
def test_a_sandbox_that_does_not_work_is_told_with_the_reason(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "_PLACES", "/nowhere")
    bubblewrap.probe.cache_clear()
    tasks = Terminal(database_url=database_url, root=tmp_path / "root", executor="sandbox")

    found = verdicts(tasks("doctor", "--json"))["executor"]

    assert found["verdict"] == "fail"
    assert "there is no bwrap" in found["found"]
    assert "bubblewrap" in found["advice"]


def test_a_database_that_does_not_answer_stops_no_other_look(tmp_path: Path) -> None:
    tasks = Terminal(database_url="postgresql://me:secret@127.0.0.1:1/none", root=tmp_path / "root")

    done = tasks("doctor", "--json")

    assert done.code == 6
    found = verdicts(done)
    assert (found["database"]["verdict"], found["git"]["verdict"]) == ("fail", "ok")
    assert "[database_unreachable]" in found["database"]["found"]
    assert "TASKS_DATABASE_URL" in found["database"]["advice"]
    assert "secret" not in done.out + tasks("doctor").out


@pytest.mark.case("W14")
def test_a_root_in_a_repository_is_a_failure_with_a_way_out(database_url: str, tmp_path: Path) -> None:
    folder = factories.a_repository(tmp_path)
    tasks = Terminal(database_url=database_url, root=folder / "root")

    done = tasks("doctor", "--json")

    assert done.code == 3
    assert verdicts(done)["root"]["verdict"] == "fail"
    assert "[root_in_repository]" in verdicts(done)["root"]["found"]
    assert "TASKS_ROOT" in verdicts(done)["root"]["advice"]


@pytest.mark.case("W20")
def test_an_executor_or_an_agent_that_cannot_work_is_named(
    tasks: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("executor = 'docker'\n[agents]\ngood = 'true {prompt_file}'\nbad = '/no/such/agent'\n")
    monkeypatch.setenv("TASKS_CONFIG", str(settings))

    done = replace(tasks, executor="")("doctor", "--json")

    found = verdicts(done)
    assert done.code == 3
    assert (found["executor"]["verdict"], found["agent good"]["verdict"]) == ("fail", "ok")
    assert "[executor_unavailable]" in found["executor"]["found"]
    assert found["agent bad"]["verdict"] == "warn"
    assert f"{settings}:1" in {each["origin"] for each in done.json["settings"]}


def test_workspaces_that_were_left_behind_are_listed(
    database: Database, tasks: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factories, "HOST", host_id())
    first, second = factories.a_running_task(database), factories.a_running_task(database)
    factories.an_attempt(database, first)
    factories.an_attempt(database, second)
    with database.connection() as db:
        (kept,) = allocations.live(db, second.id)
        allocations.end(db, kept, AllocationState.quarantined, reason="unsafe")

    done = tasks("doctor", "--json")

    leftovers = [each for each in done.json["checks"] if each["name"] == "leftovers"]
    assert [each["verdict"] for each in leftovers] == ["warn"]
    assert f"{kept.path}" in leftovers[0]["found"]
    assert leftovers[0]["advice"]


def a_kept_workspace(database: Database, folder: Path) -> Task:
    """Walk a task to its gate with a work tree that was set aside."""
    task = factories.a_running_task(database)
    attempt = factories.an_attempt(database, task, launched=False)
    place = folder / f"tree-{task.id}"
    place.mkdir()
    with database.connection() as db:
        reserved = allocations.reserve(db, attempt, allocation=uuid4(), host=host_id())
        given = {"epoch": attempt.epoch, "path": str(place), "base": attempt.base, "baseline": "{}"}
        ready = allocations.ready(db, reserved, **given)
        allocations.end(db, ready, AllocationState.quarantined, reason="unsafe")
    return factories.a_settled(database, task, attempt, exit_code=None, findings=(factories.a_finding(),)).task


def test_a_workspace_of_a_closed_task_may_go_and_one_of_an_open_task_is_looked_at_first(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    waiting, closed = (a_kept_workspace(database, tmp_path) for _ in range(2))
    tasks("cancel", closed.id)

    leftovers = [each for each in tasks("doctor", "--json").json["checks"] if each["name"] == "leftovers"]

    assert [each["found"].split(":")[0] for each in leftovers] == [
        "1 workspace kept for open tasks",
        "1 workspace of closed tasks, which nothing needs any more",
    ]
    assert leftovers[0]["advice"] == f"tasks show {waiting.id}"
    assert leftovers[1]["advice"] == f"rm -rf {tmp_path / f'tree-{closed.id}'}"
