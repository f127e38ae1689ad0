"""The `.git` of a local tree: good to work with, worth nothing to us, and remembered where it matters."""

import json
import os
from pathlib import Path

import pytest

from tests import gits, trees
from tests.trees import Work
from workspace.inspection.gitdirs import compare, write_gitdir


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path, {**trees.FILES, "bad-eol.txt": "a\r\nb\n", ".gitattributes": "* text=auto eol=crlf\n"})


def moved(work: Work) -> tuple[tuple[str, ...], tuple[str, ...]]:
    difference = compare(work.tree, work.baseline)
    return difference.metadata, difference.commits


def test_a_fresh_tree_is_clean_and_has_its_history(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person")
    gits.commit(person, {"b.txt": "two\n"}, "second")
    work = trees.work_on(tmp_path, person)

    assert gits.git(work.tree, "status", "--porcelain") == ""
    assert gits.git(work.tree, "log", "--format=%s") == "second\nbase"
    assert gits.git(work.tree, "branch", "--show-current") == "weighlock/1"
    gits.git(work.tree, "fsck", "--strict")


def test_its_index_is_trusted_by_git_without_reading_a_file(work: Work) -> None:
    before = (work / ".git" / "index").stat().st_mtime_ns

    gits.git(work.tree, "status", "--porcelain")

    # Racy or unknown stat data would make git read the files and rewrite the index.
    assert (work / ".git" / "index").stat().st_mtime_ns == before


def test_a_sha256_repository_gets_a_gitdir_of_its_own_kind(tmp_path: Path) -> None:
    work = trees.work(tmp_path, options=("--object-format=sha256",))

    assert gits.git(work.tree, "status", "--porcelain") == ""
    assert len(gits.git(work.tree, "rev-parse", "HEAD")) == 64


def test_a_shallow_history_is_shallow_there_too(tmp_path: Path) -> None:
    deep = gits.person(tmp_path / "deep")
    gits.commit(deep, {"b.txt": "two\n"}, "second")
    gits.git(tmp_path, "clone", "-q", "--depth", "1", f"file://{deep}", "person")

    work = trees.work_on(tmp_path, tmp_path / "person")

    assert gits.git(work.tree, "log", "--format=%s") == "second"
    assert gits.git(work.tree, "status", "--porcelain") == ""


@pytest.mark.case("W17")
def test_an_agent_may_add_commit_stash_and_branch(work: Work) -> None:
    (work / "a.txt").write_text("two\n")
    gits.git(work.tree, "stash")
    assert (work / "a.txt").read_text() == "one\n"
    gits.git(work.tree, "stash", "pop")
    gits.git(work.tree, "checkout", "-q", "-b", "mine")
    gits.git(work.tree, "add", "-A")
    gits.git(work.tree, "commit", "-q", "-m", "mine")

    assert gits.git(work.tree, "status", "--porcelain") == ""


def test_it_has_an_identity_to_commit_with(work: Work) -> None:
    nobody = {f"GIT_{role}_{what}": "" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    assert gits.git(work.tree, "config", "user.email", env=nobody) == "agent@weighlock.invalid"


@pytest.mark.hazard("H17")
@pytest.mark.hazard("H54")
@pytest.mark.hazard("H55")
def test_nothing_leads_from_it_to_the_runner(work: Work) -> None:
    gitdir = work / ".git"

    assert not (gitdir / "hooks").exists()
    assert not (gitdir / "objects" / "info" / "alternates").exists()
    assert str(work.repo.path) not in (gitdir / "config").read_text()
    assert {path.stat().st_nlink for path in gitdir.rglob("*") if path.is_file()} == {1}


@pytest.mark.parametrize("branch", ["", "../x", "/x", "a..b", "-x", "x.lock", "a//b", "x\ny", ".hidden"])
def test_only_names_the_product_makes_are_branches(work: Work, branch: str) -> None:
    with pytest.raises(ValueError, match="branch"):
        write_gitdir(work.repo, work.base, work.tree, branch=branch)


def test_work_that_commits_nothing_moves_nothing(work: Work) -> None:
    (work / "a.txt").write_text("two\n")
    gits.git(work.tree, "add", "-A")
    gits.git(work.tree, "stash")
    gits.git(work.tree, "stash", "pop")
    gits.git(work.tree, "status")
    (work / ".git" / "COMMIT_EDITMSG").write_text("draft")
    (work / ".git" / "index.lock").write_text("")
    (work / ".git" / "refs" / "heads" / "x.lock").write_text("")

    assert moved(work) == ((), ())


@pytest.mark.hazard("H51")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("commit", "--allow-empty", "-qm", "x"), ("changed refs/heads/weighlock/1",)),
        (("checkout", "-q", "--detach"), ("changed HEAD",)),
        (("checkout", "-q", "-b", "mine"), ("changed HEAD", "added refs/heads/mine")),
        (("checkout", "-q", "--orphan", "o"), ("changed HEAD",)),
        (("tag", "v1"), ("added refs/tags/v1",)),
        (("pack-refs", "--all"), ("added packed-refs", "removed refs/heads/weighlock/1")),
        (("update-ref", "-d", "refs/heads/weighlock/1"), ("removed refs/heads/weighlock/1",)),
    ],
)
def test_what_an_agents_own_commits_move_is_told_apart(
    work: Work, command: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    gits.git(work.tree, *command)

    assert moved(work) == ((), expected)


@pytest.mark.case("F01")
@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("config", "[core]\n\tfsmonitor = touch /tmp/proof\n"),
        ("config.worktree", "[core]\n\tfsmonitor = touch /tmp/proof\n"),
        ("hooks/post-checkout", "#!/bin/sh\n"),
        ("hooks/deep/er", "x"),
        ("info/exclude", "*\n"),
        ("info/attributes", "* filter=evil\n"),
        ("info/grafts", "x"),
        ("info/sparse-checkout", "/a\n"),
        ("objects/info/alternates", "/elsewhere/objects\n"),
        ("objects/info/http-alternates", "https://elsewhere\n"),
        ("worktrees/w/gitdir", "/elsewhere/.git\n"),
        ("modules/m/config", "[core]\n"),
        ("commondir", "/elsewhere/.git\n"),
        ("shallow", "x\n"),
    ],
)
def test_every_part_that_git_obeys_is_remembered(work: Work, path: str, content: str) -> None:
    place = work / ".git" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)

    metadata, commits = moved(work)

    assert [line.split(" ", 1)[1] for line in metadata] == [path]
    assert commits == ()


@pytest.mark.case("F01")
def test_a_change_that_keeps_size_and_times_is_found(work: Work) -> None:
    config = work / ".git" / "config"
    found, text = config.stat(), config.read_text()
    config.write_text(text.replace("filemode = true", "fileMode = TRUE"))
    os.utime(config, ns=(found.st_atime_ns, found.st_mtime_ns))

    assert moved(work) == (("changed config",), ())


@pytest.mark.parametrize("name", ["HEAD", "config", "info", "refs", "objects", "refs/heads"])
def test_a_link_in_place_of_a_part_is_not_followed(work: Work, tmp_path: Path, name: str) -> None:
    place = work / ".git" / name
    place.rename(tmp_path / "aside")
    trees.link(tmp_path / "aside", place)

    metadata, _ = moved(work)

    assert f"{'added' if name in {'info', 'refs', 'refs/heads'} else 'changed'} {name}" in metadata


@pytest.mark.parametrize("name", ["HEAD", "hooks", "refs/heads/pipe"])
def test_a_pipe_in_place_of_a_part_does_not_hold_anybody(work: Work, name: str) -> None:
    place = work / ".git" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)

    metadata, _ = moved(work)

    assert any(line.endswith(name) for line in metadata)


@pytest.mark.hazard("H48")
@pytest.mark.parametrize("kind", ["file", "link", "nothing"])
def test_a_git_that_is_no_folder_any_more_is_told(work: Work, tmp_path: Path, kind: str) -> None:
    (work / ".git").rename(tmp_path / "aside")
    if kind == "file":
        (work / ".git").write_text(f"gitdir: {tmp_path / 'aside'}\n")
    if kind == "link":
        trees.link(tmp_path / "aside", work / ".git")

    said = "removed all of .git" if kind == "nothing" else "replaced .git by something that is no folder"
    assert moved(work) == ((said,), ())
    assert work.inspect().manifest["metadata_changed"] is True


def test_a_flood_of_refs_is_bounded(work: Work) -> None:
    for number in range(300):
        (work / ".git" / "refs" / "tags" / f"t{number}").write_text(work.base)

    _, commits = moved(work)

    assert len(commits) == 101
    assert commits[-1] == "and 200 more"


def test_a_huge_config_is_not_read(work: Work) -> None:
    os.truncate(work / ".git" / "config", 1 << 40)

    assert moved(work) == (("changed config",), ())


def test_without_a_baseline_there_is_nothing_to_compare(tmp_path: Path) -> None:
    work = trees.work(tmp_path, gitdir=False)

    assert moved(work) == ((), ())


def test_a_baseline_is_a_document_that_a_row_can_hold(work: Work) -> None:
    document = json.loads(str(work.baseline))

    assert document["version"] == 1
    assert document["entries"]["HEAD"][0] == "file"
