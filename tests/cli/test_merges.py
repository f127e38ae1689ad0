from pathlib import Path
from typing import Any

import pytest

from statemachine.gates import GateKind
from statemachine.settlement import Outcome
from store import tasks as rows
from store.engine import Database
from store.tasks import Task
from tests import factories
from tests.cli.terminal import Terminal
from workspace.disk.roots import open_root


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


def a_result(database: Database, tasks: Terminal, source: Path, **more: Any) -> Task:
    """Walk a task of a real repository to its review."""
    root = open_root(tasks.root)
    repository = factories.a_fetched_repository(database, root, source, **more)
    head = factories.a_result(root, repository, {"README.md": "better\n"})
    task = factories.a_task_of(database, root, repository)
    return factories.a_task_at_gate(database, GateKind.review, task, commit=head)


def an_approved_result(database: Database, tasks: Terminal, source: Path, *, by: str = "rev", **more: Any) -> Task:
    """Walk a task of a real repository through its review."""
    task = a_result(database, tasks, source, **more)
    assert tasks("gate", "approve", task.id, "--as", by).code == 0
    with database.connection() as db:
        return rows.get(db, task.id)


@pytest.mark.case("C01")
def test_an_approved_result_reaches_its_branch_and_its_work_tree(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    source = factories.a_repository(tmp_path)
    task = an_approved_result(database, tasks, source)

    done = tasks("merge", task.id, "--json")

    assert (done.code, done.err) == (0, "")
    assert done.json["state"] == "merged"
    assert factories.git(source, "rev-parse", "main") == task.head
    assert (source / "README.md").read_text() == "better\n"
    assert factories.git(source, "status", "--porcelain") == ""


@pytest.mark.case("M01")
def test_what_nobody_approved_is_not_merged(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task = a_result(database, tasks, factories.a_repository(tmp_path))

    done = tasks("merge", task.id, "--json")

    assert (done.code, done.out, done.error["code"]) == (3, "", "not_mergeable")
    with database.connection() as db:
        assert rows.get(db, task.id) == task


def test_a_work_tree_with_changes_is_not_touched(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    task = an_approved_result(database, tasks, source)
    (source / "README.md").write_text("mine\n")

    done = tasks("merge", task.id, "--json")

    assert (done.code, done.error["code"]) == (3, "target_checked_out")
    assert 'changes that are not staged: "README.md"' in done.error["message"]
    assert (source / "README.md").read_text() == "mine\n"
    assert factories.git(source, "rev-parse", "main") == task.base
    with database.connection() as db:
        assert rows.get(db, task.id) == task


def test_the_author_does_not_approve_alone_unless_that_is_the_policy(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    source = factories.a_repository(tmp_path)
    task = an_approved_result(database, tasks, source, by="ann")

    done = tasks("merge", task.id, "--json")

    assert (done.code, done.error["code"]) == (3, "approver_is_author")
    assert factories.git(source, "rev-parse", "main") == task.base


@pytest.mark.case("M06")
def test_a_merge_the_target_refuses_is_blocked_and_said_so(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    target = tmp_path / "target.git"
    factories.git(tmp_path, "clone", "--quiet", "--bare", str(source), str(target))
    hook = target / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho not \033[31mtoday >&2\nexit 1\n")
    hook.chmod(0o755)
    task = an_approved_result(database, tasks, source, target=str(target))

    blocked = tasks("merge", task.id, "--json")
    told = tasks("show", task.id)
    hook.unlink()
    again = tasks("merge", task.id)

    assert blocked.code == 13
    assert blocked.json["state"] == "merge_blocked"
    assert blocked.error["code"]
    assert f"next: tasks merge {task.id}\n" in told.out
    assert (again.code, again.out.splitlines()[1]) == (0, f"task {task.id} is merged")
    assert factories.git(target, "rev-parse", "main") == task.head


@pytest.mark.case("A02")
def test_an_old_version_is_a_stale_view(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task = an_approved_result(database, tasks, factories.a_repository(tmp_path))

    done = tasks("merge", task.id, "--if-version", task.version - 1, "--json")

    assert (done.code, done.error["code"]) == (4, "stale_view")


def test_a_merge_is_announced_only_once_nothing_stands_in_its_way(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    source = factories.a_repository(tmp_path)
    task = an_approved_result(database, tasks, source)
    (source / "README.md").write_text("mine\n")
    refused = tasks("merge", task.id)
    factories.git(source, "checkout", "--quiet", "README.md")

    merged = tasks("merge", task.id)

    assert "merging into" not in refused.out
    assert merged.out.startswith(f"merging into main of {source}, whose work tree follows\n")


def test_a_result_without_a_change_says_so_wherever_it_is_looked_at(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    repository = factories.a_fetched_repository(database, open_root(tasks.root), factories.a_repository(tmp_path))
    task = factories.a_task_of(database, open_root(tasks.root), repository)
    waiting = factories.a_task_at_gate(database, GateKind.review, task, outcome=Outcome.unchanged)

    diff, shown = tasks("diff", waiting.id), tasks("show", waiting.id)
    tasks("gate", "approve", waiting.id, "--as", "rev")
    merged = tasks("merge", waiting.id)

    assert diff.out == f"task {waiting.id} changed nothing: every item is done and left all files as they were\n"
    assert f"next: tasks attempt log {waiting.id}\n      tasks gate reject {waiting.id} --guidance TEXT" in shown.out
    assert "nothing was changed, so there was nothing to merge" in merged.out
