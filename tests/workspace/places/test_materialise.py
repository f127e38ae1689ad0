"""A tree is written as the commit says, byte for byte, and nowhere else."""

import os
from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests import gits, trees
from workspace.places.materialise import materialise
from workspace.repository.repositories import RunnerRepository

ATTRIBUTES = "* text=auto\n*.crlf eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n*.big filter=lfs\n"
CONVERTED = {
    "a.crlf": b"one\ntwo\n",
    "b.id": b"$Id$\n",
    "c.u16": b"h\xc3\xa9llo\n",
    "d.big": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "e.raw": b"one\r\ntwo\r\n",
}


def by_hand(tmp_path: Path, *entries: tuple[str, str, str], above: str = "") -> tuple[RunnerRepository, str]:
    """Make a commit of entries (mode, name, content) in a runner repository that no fetch would have let in."""
    repo, _ = gits.runner(tmp_path, gits.person(tmp_path / "person"))
    lines = b""
    for mode, name, content in entries:
        identity = gits.git(repo.path, "hash-object", "-w", "--stdin", stdin=content.encode())
        lines += f"{mode} blob {identity}\t{name}\0".encode()
    tree = gits.git(repo.path, "mktree", "-z", stdin=lines)
    for name in filter(None, above.split("/")):
        tree = gits.git(repo.path, "mktree", "-z", stdin=f"040000 tree {tree}\t{name}\0".encode())
    return repo, gits.git(repo.path, "commit-tree", "-m", "by hand", tree)


def unfit(repo: RunnerRepository, commit: str, folder: Path) -> str:
    with pytest.raises(Refusal) as refused:
        materialise(repo, commit, folder)
    assert refused.value.hint
    return refused.value.code


@pytest.mark.case("W22")
@pytest.mark.hazard("H36")
@pytest.mark.hazard("H37")
def test_bytes_are_those_of_the_blobs_whatever_attributes_say(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person", CONVERTED)
    (person / ".gitattributes").write_text(ATTRIBUTES)
    gits.git(person, "add", ".gitattributes")
    gits.git(person, "commit", "-qm", "attributes")

    work = trees.work_on(tmp_path, person)

    assert {name: (work / name).read_bytes() for name in CONVERTED} == CONVERTED
    assert work.kinds() == {}


def test_modes_links_and_submodules_are_written(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person", {"plain": "p", "deep/program": "#!/bin/sh\n"})
    (person / "deep" / "program").chmod(0o755)
    trees.link("../plain", person / "deep" / "link")
    gits.git(person, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub/module")
    gits.git(person, "add", "deep")
    gits.git(person, "commit", "-qm", "odd")

    work = trees.work_on(tmp_path, person)

    assert os.access(work / "deep" / "program", os.X_OK)
    assert not os.access(work / "plain", os.X_OK)
    assert (work / "deep" / "link").readlink() == Path("../plain")
    assert list((work / "sub" / "module").iterdir()) == []


@pytest.mark.parametrize("name", [b"bad\xff", b"new\nline", b" lead", b"-rf", b"\xe2\x80\xae.txt", b"a\\b", b":(top)x"])
def test_any_name_that_linux_takes_is_written(tmp_path: Path, name: bytes) -> None:
    person = tmp_path / "person"
    person.mkdir()
    (person / os.fsdecode(name)).write_text("odd")
    gits.person(person, {"a.txt": "one\n"})

    work = trees.work_on(tmp_path, person)

    assert {os.fsencode(path.name) for path in work.tree.iterdir()} == {b".git", b"a.txt", name}
    assert work.kinds() == {}


def test_large_and_empty_files_and_a_sha256_repository_are_written(tmp_path: Path) -> None:
    large = os.urandom(1 << 20) * 9
    work = trees.work(tmp_path, {"large": large, "empty": b""}, options=("--object-format=sha256",))

    assert (work / "large").read_bytes() == large
    assert (work / "empty").read_bytes() == b""
    assert work.kinds() == {}


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".g\u200cit", ".git ", ".git.", ".git::$INDEX_ALLOCATION"])
def test_a_base_with_a_spelling_of_git_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    repo, commit = by_hand(tmp_path, ("100644", name, "x"), ("100644", "fine", "y"))

    assert unfit(repo, commit, tmp_path / "tree") == "base_unfit"
    assert not (tmp_path / "tree").exists()


def test_a_base_with_a_git_folder_deep_down_is_refused(tmp_path: Path) -> None:
    repo, commit = by_hand(tmp_path, ("100644", "config", "[core]"), above=".git/sub")

    assert unfit(repo, commit, tmp_path / "tree") == "base_unfit"


@pytest.mark.parametrize("target", ["", "x" * 5000])
def test_a_link_that_no_disk_takes_is_refused(tmp_path: Path, target: str) -> None:
    repo, commit = by_hand(tmp_path, ("120000", "link", target))

    assert unfit(repo, commit, tmp_path / "tree") == "base_unfit"


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    work = trees.work(tmp_path)
    before = gits.snapshot(work.tree)

    code = unfit(work.repo, work.base, work.tree)

    assert code == "materialise_failed"
    assert gits.snapshot(work.tree) == before


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    work = trees.work(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    trees.link(tmp_path / "elsewhere", tmp_path / "tree")

    code = unfit(work.repo, work.base, tmp_path / "tree")

    assert code == "materialise_failed"
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.hazard("H53")
def test_a_damaged_object_of_the_runner_is_never_written_as_if_it_were_whole(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person")
    repo, base = gits.runner(tmp_path, person)
    blob = gits.git(person, "rev-parse", "HEAD:a.txt")
    trees.loosen(repo.path)
    trees.forge(repo.path, blob, b"evil\n")

    assert unfit(repo, base, tmp_path / "tree") in {"base_unfit", "object_missing", "git_failed"}
