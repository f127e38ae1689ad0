from datetime import timedelta
from pathlib import Path

import pytest

from cli.pages.report_schemas import RecoveryDocument
from store import tasks as rows
from store.engine import Database
from store.tasks import Task
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal
from workspace.disk.roots import open_root

OVER = timedelta(seconds=-1)


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


def a_task_whose_worker_is_gone(database: Database, tasks: Terminal, tmp_path: Path) -> Task:
    root = open_root(tasks.root)
    repository = factories.a_fetched_repository(database, root, factories.a_repository(tmp_path))
    return factories.a_running_task(database, factories.a_task_of(database, root, repository), lease=OVER)


@pytest.mark.case("C01")
@pytest.mark.case("R08")
def test_a_task_whose_worker_is_gone_is_queued_again_once(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task = a_task_whose_worker_is_gone(database, tasks, tmp_path)

    done = tasks("recover", "--json")
    again = tasks("recover")

    conforms(done.json, RecoveryDocument)
    assert (done.code, done.json["complete"], done.json["unfinished"]) == (0, True, [])
    assert [(line["task"], line["what"]) for line in done.json["lines"]] == [(task.id, "queued")]
    assert tasks("show", task.id, "--json").json["state"] == "queued"
    assert (again.code, again.out.splitlines()) == (0, ["nothing is left to recover", "next: tasks work"])


@pytest.mark.case("R18")
def test_a_dry_run_tells_and_changes_nothing(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task = a_task_whose_worker_is_gone(database, tasks, tmp_path)

    done = tasks("recover", "--dry-run")
    document = tasks("recover", "--dry-run", "--json").json

    assert done.code == 0
    assert f"task {task.id} is queued again: its lease expired" in done.out
    assert done.out.endswith("next: tasks recover\n")
    assert (document["dry_run"], [line["task"] for line in document["lines"]]) == (True, [task.id])
    with database.connection() as db:
        assert rows.get(db, task.id) == task
    assert tasks("recover", "--json").json["lines"] == document["lines"]


@pytest.mark.case("R10")
def test_what_cannot_be_recovered_yet_is_named_and_ends_with_10(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_whose_worker_is_gone(database, tasks, tmp_path)
    lost = factories.a_task(database)

    done = tasks("recover", "--json")
    told = tasks("recover")

    assert (done.code, done.json["complete"]) == (10, False)
    assert [line["what"] for line in done.json["unfinished"]] == ["repository_missing"]
    assert tasks("show", task.id, "--json").json["state"] == "queued"
    assert told.code == 10
    assert "not recovered yet:\n  project-" in told.out
    assert tasks("show", lost.id, "--json").json["state"] == "queued"
