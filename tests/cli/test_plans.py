from pathlib import Path

import pytest

from cli.pages.report_schemas import PlanDocument
from cli.plan_files.template import TEMPLATE
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal

PLAN = """\
title: Retry uploads
base: main
target: main
items:
  - id: P1
    title: Back off
    intent: Wait longer each time.
    files:
      - edit: src/upload.py
      - add: tests/test_upload.py
  - id: P2
    title: Say so
    intent: Write it down.
    files:
      - edit: src/
      - rename: docs.md
        renamed_from: README.md
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Terminal:
    # Nothing here needs a database: one that is asked for would not answer.
    return Terminal(database_url="postgresql://nobody@127.0.0.1:1/none", root=tmp_path / "root")


def written(folder: Path, text: str) -> Path:
    file = folder / "plan.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.case("C01")
def test_check_shows_the_projected_tree_and_what_each_item_may_touch(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    file = written(tmp_path, PLAN)

    told = tasks("plan", "check", file, "--repo", source)
    document = tasks("plan", "check", file, "--repo", source, "--json").json

    conforms(document, PlanDocument)
    assert document["base"] == factories.git(source, "rev-parse", "HEAD")
    assert [each["path"] for each in document["tree"]] == ["docs.md", "src/upload.py", "tests/test_upload.py"]
    assert document["items"][1]["files"][0]["covers"] == ["src/upload.py"]
    assert '      add "tests/test_upload.py"\n' in told.out
    assert '      edit "src/": 1 file of the tree\n' in told.out
    assert '      rename "docs.md" from "README.md"\n' in told.out
    assert f"next: tasks run {file} --repo {source} --agent 'COMMAND'\n" in told.out


def test_check_touches_neither_the_repository_nor_the_root(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in sorted(source.rglob("*"))}

    assert tasks("plan", "check", written(tmp_path, PLAN), "--repo", source).code == 0

    assert {path: path.stat().st_mtime_ns for path in sorted(source.rglob("*"))} == before
    assert not tasks.root.exists()


def test_what_the_tree_cannot_take_is_told_with_its_line(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    file = written(tmp_path, PLAN.replace("edit: src/upload.py", "edit: src/download.py"))

    done = tasks("plan", "check", file, "--repo", source, "--json")

    assert (done.code, done.out, done.error["code"]) == (3, "", "plan_invalid")
    assert (done.error["facts"]["line"], done.error["facts"]["field"]) == (9, "items[0].files[0].edit")
    assert str(file) in done.error["message"]


def test_a_plan_can_be_piped_in(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)

    fine = tasks.process("plan", "check", "-", "--repo", source, "--json", given=PLAN)
    wrong = tasks.process("plan", "check", "-", "--repo", source, given="title: [")

    assert fine.json["title"] == "Retry uploads"
    assert wrong.code == 3
    assert "the plan on stdin" in wrong.err


@pytest.mark.parametrize(
    ("base", "repo", "code"),
    [("gone", "project", "base_missing"), ("main", "nowhere", "source_not_a_repository")],
)
def test_a_base_or_a_repository_that_is_missing_is_named(
    tasks: Terminal, tmp_path: Path, base: str, repo: str, code: str
) -> None:
    factories.a_repository(tmp_path)
    file = written(tmp_path, PLAN.replace("base: main", f"base: {base}"))

    done = tasks("plan", "check", file, "--repo", tmp_path / repo, "--json")

    assert (done.code, done.error["code"]) == (3, code)


def test_a_plan_that_is_not_there_is_not_found(tasks: Terminal, tmp_path: Path) -> None:
    done = tasks("plan", "check", tmp_path / "no.yaml", "--repo", tmp_path, "--json")

    assert (done.code, done.error["code"]) == (5, "plan_not_found")


@pytest.mark.case("C03")
def test_hostile_names_in_a_plan_are_quoted(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    title = '"red \\u001b[31m \\u202e end"'
    file = written(tmp_path, PLAN.replace("title: Back off", f"title: {title}"))

    done = tasks("plan", "check", file, "--repo", source)

    assert "\x1b" not in done.out + done.err
    assert "\u202e" not in done.out + done.err


def test_init_writes_a_plan_to_start_from_and_never_over_another(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    file = tmp_path / "new plan.yaml"

    done = tasks("plan", "init", file)
    again = tasks("plan", "init", file, "--json")

    assert (done.code, file.read_text(encoding="utf-8")) == (0, TEMPLATE)
    assert f"next: tasks plan check '{file}' --repo PATH" in done.out
    assert (again.code, again.error["code"]) == (3, "file_exists")
    assert tasks("plan", "check", file, "--repo", source).code == 0


def test_init_without_a_name_writes_here(tasks: Terminal, tmp_path: Path) -> None:
    done = tasks.process("plan", "init", "--json", cwd=tmp_path)

    assert done.json == {"path": str(tmp_path / "plan.yaml")}
    assert (tmp_path / "plan.yaml").exists()


def test_check_looks_at_the_commands_and_at_the_branch_a_merge_would_go_to(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    head = "title: Retry uploads\n"

    shell = written(tmp_path, PLAN.replace(head, head + "checks: ['echo a > b']\n"))
    in_a_shell = tasks("plan", "check", shell, "--repo", source, "--json")
    missing = written(tmp_path, PLAN.replace(head, head + "agent: ./agent.sh\n"))
    not_there = tasks("plan", "check", missing, "--repo", source, "--json")
    (tmp_path / "agent.sh").write_text("#!/bin/sh\n")
    (tmp_path / "agent.sh").chmod(0o755)
    beside_the_plan = tasks("plan", "check", missing, "--repo", source)
    new = written(tmp_path, PLAN.replace("target: main", "target: nosuch"))
    branch = tasks("plan", "check", new, "--repo", source)

    assert in_a_shell.error["code"] == "check_invalid"
    assert not_there.error["code"] == "agent_not_found"
    assert (beside_the_plan.code, branch.code) == (0, 0)
    assert branch.err == f'warning: {source} has no branch "nosuch"; a merge will create it\n'
