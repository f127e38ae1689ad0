"""An agent's own index, config, ignore rules and attributes may say what they like: only bytes are believed."""

import os
from pathlib import Path

import pytest

from tests import gits, trees
from tests.trees import Work


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path)


def agent(work: Work, *arguments: str) -> str:
    return gits.git(work.tree, *arguments)


@pytest.mark.hazard("H01")
@pytest.mark.hazard("H02")
@pytest.mark.hazard("H04")
@pytest.mark.hazard("H05")
@pytest.mark.hazard("H08")
def test_nothing_an_agents_git_would_run_is_run_by_looking(work: Work, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    hooks = work / ".git" / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {proof}\n")
        (hooks / name).chmod(0o755)
    (work / "included").write_text(f"[core]\n\tfsmonitor = touch {proof}; false\n")
    agent(work, "config", "include.path", "../included")
    agent(work, "config", "filter.evil.clean", f"touch {proof}; cat")
    (work / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (work / ".gitattributes").write_text("* filter=evil\n")
    (work / "a.txt").write_text("two\n")
    proof.unlink(missing_ok=True)

    manifest = work.inspect().manifest

    assert not proof.exists()
    assert manifest["metadata_changed"] is True


@pytest.mark.hazard("H21")
def test_assume_unchanged_hides_nothing(work: Work) -> None:
    agent(work, "update-index", "--assume-unchanged", "a.txt")
    (work / "a.txt").write_text("evil\n")
    assert agent(work, "status", "--porcelain") == ""

    assert work.kinds() == {"a.txt": "modify"}


@pytest.mark.hazard("H22")
def test_skip_worktree_hides_nothing(work: Work) -> None:
    agent(work, "update-index", "--skip-worktree", "a.txt")
    (work / "a.txt").write_text("evil\n")
    assert agent(work, "status", "--porcelain") == ""

    assert work.kinds() == {"a.txt": "modify"}


@pytest.mark.hazard("H24")
def test_a_split_index_hides_nothing(work: Work) -> None:
    agent(work, "update-index", "--split-index")
    (work / "a.txt").write_text("evil\n")

    assert work.kinds() == {"a.txt": "modify"}


@pytest.mark.hazard("H25")
@pytest.mark.hazard("H26")
def test_a_write_that_keeps_size_and_times_is_seen(work: Work) -> None:
    agent(work, "config", "core.trustctime", "false")
    agent(work, "config", "core.checkStat", "minimal")
    found = (work / "a.txt").stat()
    (work / "a.txt").write_text("two\n")
    os.utime(work / "a.txt", ns=(found.st_atime_ns, found.st_mtime_ns))
    assert agent(work, "status", "--porcelain") == ""

    assert work.kinds() == {"a.txt": "modify"}


@pytest.mark.hazard("H27")
def test_a_config_that_shows_no_untracked_files_hides_none(work: Work) -> None:
    agent(work, "config", "status.showUntrackedFiles", "no")
    (work / "new").write_text("x")
    assert agent(work, "status", "--porcelain") == ""

    assert work.kinds() == {"new": "add"}


@pytest.mark.hazard("H28")
def test_what_lies_in_a_folder_that_took_a_files_place_is_seen(work: Work) -> None:
    (work / "a.txt").unlink()
    (work / "a.txt").mkdir()
    (work / "a.txt" / "payload").write_text("x")
    assert agent(work, "status", "--porcelain") in {"D a.txt", " D a.txt"}

    assert work.kinds() == {"a.txt": "delete", "a.txt/payload": "add"}


@pytest.mark.hazard("H29")
def test_an_exclude_file_hides_nothing(work: Work) -> None:
    (work / ".git" / "info" / "exclude").write_text("hid/\n")
    (work / "hid").mkdir()
    (work / "hid" / "x").write_text("x")
    assert agent(work, "status", "--porcelain") == ""

    assert work.kinds() == {"hid/x": "add"}


@pytest.mark.hazard("H30")
def test_a_config_that_ignores_modes_hides_none(work: Work) -> None:
    agent(work, "config", "core.fileMode", "false")
    (work / "a.txt").chmod(0o755)
    assert agent(work, "status", "--porcelain") == ""

    assert work.kinds() == {"a.txt": "mode"}


@pytest.mark.hazard("H32")
def test_a_work_tree_elsewhere_is_not_looked_at(work: Work, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("x")
    agent(work, "config", "core.worktree", str(tmp_path / "elsewhere"))

    assert work.kinds() == {}


@pytest.mark.hazard("H33")
def test_a_sparse_checkout_hides_nothing(work: Work) -> None:
    agent(work, "sparse-checkout", "set", "--no-cone", "/a.txt")
    (work / "src").mkdir(exist_ok=True)
    (work / "src" / "x.py").write_text("evil\n")

    assert work.kinds() == {"src/x.py": "modify", "src/deep/y.py": "delete"}


@pytest.mark.hazard("H35")
def test_replaced_objects_and_grafts_hide_nothing(work: Work) -> None:
    old = agent(work, "rev-parse", "HEAD:a.txt")
    new = gits.git(work.tree, "hash-object", "-w", "--stdin", stdin=b"evil\n")
    agent(work, "replace", old, new)
    (work / ".git" / "info" / "grafts").write_text(f"{work.base}\n")
    (work / "a.txt").write_text("evil\n")

    assert work.kinds() == {"a.txt": "modify"}


@pytest.mark.hazard("H36")
def test_attributes_in_the_tree_change_no_byte_that_is_judged(work: Work) -> None:
    contents = {"c.txt": b"l\r\n", "i.txt": b"$Id: payload $\n", "u.txt": b"h\0i\0"}
    (work / ".gitattributes").write_text("* text=auto\ni.txt ident\nu.txt working-tree-encoding=UTF-16LE\n")
    for name, content in contents.items():
        (work / name).write_bytes(content)

    changes = work.changes()

    assert {name: changes[name]["new"]["id"] for name in contents} == {
        name: gits.object_id("blob", content) for name, content in contents.items()
    }


@pytest.mark.hazard("H37")
@pytest.mark.hazard("H110")
def test_a_persons_own_config_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[core]\n\tautocrlf = input\n\teol = crlf\n\texcludesFile = ~/all\n")
    (tmp_path / "home" / "all").write_text("*\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "home" / ".gitconfig"))
    work = trees.work(tmp_path)
    (work / "c.txt").write_bytes(b"a\r\n")

    assert work.changes()["c.txt"]["new"]["id"] == gits.object_id("blob", b"a\r\n")


@pytest.mark.hazard("H103")
def test_lock_files_of_a_killed_git_stop_nobody(work: Work) -> None:
    for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/x.lock"):
        (work / ".git" / name).write_text("")

    manifest = work.inspect().manifest

    assert (manifest["metadata"], manifest["commits"], manifest["changes"]) == ([], [], [])


@pytest.mark.hazard("H109")
def test_a_git_environment_around_the_worker_changes_nothing(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, "/elsewhere")

    assert work.kinds() == {}
