"""Removing a workspace: only what is proven ours, through no link, onto no other file system."""

import os
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from statemachine.refusals import Refusal
from tests import gits, trees
from workspace.disk.roots import Root, open_root
from workspace.inspection import gitdirs
from workspace.places import materialise
from workspace.places.allocations import prepare, release

ALLOCATION = UUID(int=7)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return open_root(tmp_path / "root")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    return tmp_path / "precious"


@pytest.mark.hazard("H112")
def test_links_in_a_workspace_are_removed_and_never_followed(root: Root, precious: Path) -> None:
    folder = prepare(root, task=1, epoch=1, allocation=ALLOCATION)
    trees.link(precious, folder / "deep" / "link")
    trees.link(precious / "file", folder / "file")

    assert release(root, folder, ALLOCATION).gone
    assert (precious / "file").read_text() == "x"


@pytest.mark.hazard("H112")
def test_a_workspace_that_became_a_link_is_not_removed(root: Root, precious: Path) -> None:
    folder = prepare(root, task=1, epoch=1, allocation=ALLOCATION)
    folder.rmdir()
    trees.link(precious, folder)

    with pytest.raises(Refusal):
        release(root, folder, ALLOCATION)

    assert (precious / "file").read_text() == "x"


@pytest.mark.hazard("H112")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_folder_mounted_in_a_workspace_keeps_its_content(root: Root, precious: Path) -> None:
    folder = prepare(root, task=1, epoch=1, allocation=ALLOCATION)
    (folder / "mount").mkdir()
    if subprocess.run(["mount", "--bind", precious, folder / "mount"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        released = release(root, folder, ALLOCATION)
    finally:
        subprocess.run(["umount", folder / "mount"], check=True)

    assert not released.gone
    assert (precious / "file").read_text() == "x"


@pytest.mark.hazard("H113")
def test_a_wrong_key_removes_nothing(root: Root) -> None:
    folder = prepare(root, task=1, epoch=1, allocation=ALLOCATION)
    (folder / "work").write_text("x")
    before = gits.snapshot(root.path)

    with pytest.raises(Refusal) as refused:
        release(root, folder, UUID(int=8))

    assert refused.value.code == "workspace_mismatch"
    assert gits.snapshot(root.path) == before


@pytest.mark.hazard("H113")
def test_the_workspaces_of_another_installation_are_not_removed(root: Root) -> None:
    folder = prepare(root, task=1, epoch=1, allocation=ALLOCATION)
    (root.path / "owner").write_text(f"{UUID(int=9)}\n")

    with pytest.raises(Refusal):
        release(root, folder, ALLOCATION)

    assert folder.is_dir()


@pytest.mark.hazard("H114")
def test_a_new_workspace_has_nothing_of_an_older_one(tmp_path: Path) -> None:
    work = trees.work(tmp_path, {**trees.FILES, ".gitignore": trees.IGNORES})
    trees.repository(work / "nested")
    (work / ".env").write_text("x")
    gits.git(work.tree, "update-index", "--skip-worktree", "a.txt")
    gits.git(work.tree, "config", "core.fileMode", "false")
    work.tree.rename(tmp_path / "old")

    materialise.materialise(work.repo, work.base, work.tree)
    baseline = gitdirs.write_gitdir(work.repo, work.base, work.tree, branch="weighlock/1")

    assert baseline == work.baseline
    assert work.inspect().manifest["ignored"] == []
    assert gits.git(work.tree, "ls-files", "-v").splitlines()[0].startswith("H ")
