"""What an inspection of a real tree reports is understood, and judged for what it is."""

import os
import socket
from pathlib import Path

import pytest

from screening import Policy, Verdict, judge
from statemachine.plans import Item
from tests import trees
from tests.screening.made import ADD, DELETE, EDIT, EVERYTHING, K, an_item, kinds, op
from tests.trees import Work


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path, {**trees.FILES, ".gitignore": trees.IGNORES, "b.txt": "two\n"})


def judged(work: Work, item: Item = EVERYTHING, policy: Policy | None = None) -> Verdict:
    manifest = work.inspect().manifest
    return judge(item=item, manifest=manifest, policy=policy or Policy(), permits=frozenset())


def test_an_untouched_tree_is_unchanged(work: Work) -> None:
    assert judged(work) == Verdict(unchanged=True)


@pytest.mark.case("P01")
def test_real_edits_are_split_by_scope(work: Work) -> None:
    (work / "a.txt").write_text("changed\n")
    (work / "b.txt").unlink()
    (work / "src" / "x.py").chmod(0o755)
    (work / "new").write_text("new\n")
    item = an_item(op(EDIT, "a.txt"), op(EDIT, "src/"), op(ADD, "new"))

    verdict = judged(work, item)

    assert verdict.violations == ()
    assert set(verdict.in_scope) == {(EDIT, "a.txt"), (EDIT, "src/x.py"), (ADD, "new")}
    assert verdict.out_of_scope == ((DELETE, "b.txt"),)


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(before)


@pytest.mark.case("J08")
@pytest.mark.case("J07")
@pytest.mark.hazard("H83")
@pytest.mark.hazard("H85")
def test_what_no_commit_may_hold_is_a_finding_each(work: Work) -> None:
    os.mkfifo(work / "pipe")
    os.mkfifo(os.fsencode(work.tree) + b"/bad\xff")
    _socket(work / "socket")
    trees.repository(work / "nested")
    (work / "folder" / ".GIT").mkdir(parents=True)
    (work / "out").symlink_to("../outside")

    found = {violation.paths[0]: violation.kind for violation in judged(work).violations}

    assert found == {
        "pipe": K.special_file,
        "bad\\xff": K.special_file,
        "socket": K.special_file,
        "nested": K.nested_repository,
        "folder/.GIT": K.git_named_path,
        "out": K.new_symlink,
    }


@pytest.mark.case("J12")
def test_ignored_output_of_a_real_run_is_a_note(work: Work) -> None:
    (work / "build").mkdir()
    (work / "build" / "x").write_text("x")

    noted, owed = judged(work), judged(work, policy=Policy(ignored="finding"))

    assert noted.unchanged
    assert len(noted.notes) == 1
    assert kinds(owed) == [K.ignored_file]


@pytest.mark.case("J13")
def test_a_file_replaced_by_a_folder_is_a_delete_and_an_add(work: Work) -> None:
    (work / "a.txt").unlink()
    (work / "a.txt").mkdir()
    (work / "a.txt" / "payload").write_text("x")

    verdict = judged(work, an_item(op(DELETE, "a.txt")))

    assert verdict.in_scope == ((DELETE, "a.txt"),)
    assert verdict.out_of_scope == ((ADD, "a.txt/payload"),)
