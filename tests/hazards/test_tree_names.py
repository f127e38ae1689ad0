"""Names that are not text, not what they look like, or not what a tool takes them for."""

import json
import os
from pathlib import Path

import pytest

from tests import trees
from tests.trees import Work
from workspace.inspection import manifests

ODD = [
    b"n\nl",
    b" lead",
    b"a -> b",
    b"bad\xff",
    b"\t",
    b'q"',
    b"\xc3\xa9",
    b":(glob)x",
    b"-rf",
    b"\x1b[2Jx",
    b"\xe2\x80\xaetxt",
]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path)


def write(work: Work, name: bytes) -> None:
    (work / os.fsdecode(name)).write_text("x")


@pytest.mark.hazard("H73")
@pytest.mark.hazard("H79")
def test_every_odd_name_is_told_as_it_is(work: Work) -> None:
    for name in ODD:
        write(work, name)

    assert {path.encode("utf-8", "surrogateescape") for path in work.kinds()} == set(ODD)


@pytest.mark.hazard("H74")
def test_a_name_that_is_a_pattern_widens_nothing(work: Work) -> None:
    for name in (b":(exclude)a.txt", b"*.txt", b"[a]*"):
        write(work, name)

    assert set(work.kinds()) == {":(exclude)a.txt", "*.txt", "[a]*"}


@pytest.mark.hazard("H76")
@pytest.mark.hazard("H77")
def test_a_manifest_of_names_that_are_no_text_is_plain_ascii(work: Work) -> None:
    write(work, b"bad\xff")

    text = manifests.canonical(work.inspect().manifest)

    assert "\\udcff" in text
    assert text.isascii()
    assert json.loads(text)["changes"][0]["path"].encode("utf-8", "surrogateescape") == b"bad\xff"


@pytest.mark.hazard("H78")
def test_a_path_of_the_longest_length_is_told_whole(work: Work) -> None:
    folder = work.tree
    for letter in "abcd":
        folder = folder / (letter * 250)
    folder.mkdir(parents=True)
    (folder / ("e" * 20)).write_text("x")

    (path,) = work.kinds()

    assert len(path) == 1024


@pytest.mark.hazard("H80")
def test_names_that_are_one_on_some_disk_are_marked(work: Work) -> None:
    (work / "README").write_text("x")
    (work / "readme").write_text("y")

    assert [change["collides"] for change in work.changes().values()] == [True, True]


@pytest.mark.hazard("H81")
@pytest.mark.parametrize(
    "name", [".GIT", "git~1", ".git ", ".git.", ".git::$INDEX_ALLOCATION", ".git\\config", ".g\u200cit"]
)
def test_a_spelling_of_git_is_told_and_never_entered(work: Work, name: str) -> None:
    (work / name).mkdir()
    (work / name / "config").write_text("x")

    changes = work.changes()

    assert {path: change["new"]["type"] for path, change in changes.items()} == {name: "directory"}


@pytest.mark.hazard("H81")
def test_names_that_only_look_alike_are_ordinary(work: Work) -> None:
    for name in (".gitmodules ", "con", "x:y", "a\\b", ".github"):
        (work / name).write_text("x")

    assert set(work.kinds().values()) == {"add"}
    assert len(work.kinds()) == 5
