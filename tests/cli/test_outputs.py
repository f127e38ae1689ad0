from pathlib import Path

import pytest

from cli.pages.report_schemas import AppliedDocument, OutputDocument
from store.engine import Database
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal
from tests.factories import git
from tests.workshop import Workshop, a_workshop, edit, item

HALF = "open('a.txt', 'a').write('half')\nopen('blob', 'wb').write(bytes(range(256)))\nsys.exit(3)\n"
ITEM = item("P1", edit("a.txt"), edit("blob", "add"), retries=0)


@pytest.fixture
def workshop(database: Database, database_url: str, tmp_path: Path) -> Workshop:
    return a_workshop(database, database_url, tmp_path)


@pytest.fixture
def tasks(workshop: Workshop) -> Terminal:
    return Terminal(database_url=workshop.url, root=workshop.root.path)


def a_clone(workshop: Workshop) -> Path:
    clone = workshop.folder / "clone"
    git(workshop.repository, "clone", "-q", str(workshop.repository), str(clone))
    return clone


@pytest.mark.case("K07")
def test_what_a_failed_attempt_left_can_be_read(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(HALF, ITEM)

    shown = tasks("output", "show", task.id)
    document = tasks("output", "show", task.id, "--json").json

    assert "+half" in shown.out
    assert "nobody judged it" in shown.out
    conforms(document, OutputDocument)
    assert (document["task"], document["base"]) == (task.id, task.base)
    assert "+half" in document["diff"]


def test_what_a_failed_attempt_left_can_be_applied_byte_for_byte(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(HALF, ITEM)
    clone = a_clone(workshop)

    applied = tasks("output", "apply", task.id, "--to", clone, "--json")

    conforms(applied.json, AppliedDocument)
    assert (clone / "blob").read_bytes() == bytes(range(256))
    assert git(clone, "status", "--porcelain").splitlines() == ["M a.txt", "?? blob"]


def test_a_patch_that_does_not_apply_changes_nothing(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(HALF, ITEM)
    clone = a_clone(workshop)
    (clone / "a.txt").write_text("other\n")

    refused = tasks("output", "apply", task.id, "--to", clone, "--json")

    assert (refused.code, refused.error["code"]) == (3, "output_conflicts")
    assert git(clone, "status", "--porcelain").splitlines() == ["M a.txt"]


def test_a_patch_as_git_takes_it_goes_into_a_pipe(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(HALF, ITEM)
    clone = a_clone(workshop)
    file = workshop.folder / "unfinished.patch"

    file.write_text(tasks("output", "show", task.id, "--patch").out)
    git(clone, "apply", str(file))

    assert (clone / "blob").read_bytes() == bytes(range(256))


def test_what_is_owed_or_was_found_unsafe_is_not_applied(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run("os.symlink('/etc/passwd', 'a-link')\nopen('a.txt', 'a').write('x')\n")
    clone = a_clone(workshop)

    owed = tasks("output", "apply", task.id, "--to", clone, "--json")
    workshop.approve(task, accept=(workshop.findings(task)[0].id,), reason="no links")
    accepted = tasks("output", "apply", task.id, "--to", clone, "--json")

    assert [each.error["code"] for each in (owed, accepted)] == ["output_unsafe"] * 2
    assert git(clone, "status", "--porcelain") == ""


def test_an_attempt_that_left_nothing_says_so(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run("sys.exit(0)\n")

    assert tasks("output", "show", task.id, "--json").error["code"] == "output_not_found"
    assert tasks("output", "show", task.id, "--patch", "--json").error["code"] == "partial_not_found"


def test_a_folder_that_is_no_checkout_is_refused(workshop: Workshop, tasks: Terminal, tmp_path: Path) -> None:
    task = workshop.run(HALF, ITEM)

    assert tasks("output", "apply", task.id, "--to", tmp_path, "--json").error["code"] == "source_not_a_repository"
