"""Workspaces on disk: whose they are, whether they may be attached, and how they go."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from statemachine.refusals import Refusal
from tests import gits, trees
from tests.trees import Work
from workspace.disk.roots import Root, open_root
from workspace.inspection import gitdirs
from workspace.places import allocations, materialise, trash
from workspace.places.allocations import Admission, Expected, folder_name, prepare, release

ALLOCATION = UUID("0123456789abcdef0123456789abcdef")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return open_root(tmp_path / "root")


@pytest.fixture
def work(tmp_path: Path, root: Root) -> Work:
    """A workspace of its own, made in the order the product makes it."""
    person = gits.person(tmp_path / "person", {**trees.FILES, ".gitignore": trees.IGNORES})
    repo, base = gits.runner(tmp_path, person)
    folder = prepare(root, task=7, epoch=2, allocation=ALLOCATION)
    materialise.materialise(repo, base, folder)
    baseline = gitdirs.write_gitdir(repo, base, folder, branch="weighlock/7")
    (tmp_path / "spools").mkdir()
    return Work(repo, base, folder, baseline, tmp_path / "spools")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def admitted(root: Root, work: Work, *, folder: Path | None = None, **more: object) -> Admission:
    expected = replace(Expected(allocation=ALLOCATION, head=work.base, baseline=work.baseline), **more)
    return allocations.admit(root, folder or work.tree, expected, repo=work.repo, spool=work.spools / uuid4().hex)


def test_a_folder_says_whose_it_is(work: Work) -> None:
    assert work.tree.name == folder_name(7, 2, ALLOCATION) == f"7-2-{ALLOCATION.hex}"


@pytest.mark.case("W01")
def test_the_proof_is_there_before_the_folder_and_outside_it(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", killed)

    with pytest.raises(KeyboardInterrupt):
        prepare(root, task=1, epoch=1, allocation=ALLOCATION)

    folder = root.workspaces / folder_name(1, 1, ALLOCATION)
    assert names_in(root.workspaces) == [f"{folder.name}.owner"]
    proof = json.loads(folder.with_name(f"{folder.name}.owner").read_text())
    assert proof == {"allocation": ALLOCATION.hex, "owner": root.owner.hex}


def test_an_allocation_is_used_once(root: Root) -> None:
    prepare(root, task=1, epoch=1, allocation=ALLOCATION)

    with pytest.raises(FileExistsError):
        prepare(root, task=1, epoch=1, allocation=ALLOCATION)


def test_a_workspace_that_is_as_recorded_is_admitted(root: Root, work: Work) -> None:
    assert admitted(root, work).code == ""


@pytest.mark.case("W05")
def test_a_workspace_that_went_is_missing(root: Root, work: Work) -> None:
    work.tree.rename(work.spools / "elsewhere")

    assert admitted(root, work).code == "workspace_missing"


@pytest.mark.case("W05")
@pytest.mark.case("W10")
def test_a_root_that_is_not_there_proves_nothing_missing(root: Root, work: Work, tmp_path: Path) -> None:
    root.path.rename(tmp_path / "unmounted")

    with pytest.raises(Refusal) as refused:
        admitted(root, work)

    assert refused.value.code == "workspace_lookup_failed"


@pytest.mark.case("W06")
@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_a_workspace_that_is_no_folder_is_a_mismatch(root: Root, work: Work, kind: str) -> None:
    work.tree.rename(work.spools / "aside")
    match kind:
        case "file":
            work.tree.write_text("")
        case "link":
            trees.link(work.spools / "aside", work.tree)
        case _:
            os.mkfifo(work.tree)

    assert admitted(root, work).code == "workspace_mismatch"


@pytest.mark.case("W06")
def test_a_workspace_that_is_not_ours_anothers_or_elsewhere_is_a_mismatch(root: Root, work: Work) -> None:
    (root.workspaces / "7-2-x").mkdir()
    proof = work.tree.with_name(f"{work.tree.name}.owner")

    assert admitted(root, work, allocation=uuid4()).code == "workspace_mismatch"
    assert admitted(root, work, others=(work.tree,)).code == "workspace_mismatch"
    assert admitted(root, work, folder=work.tree / "src").code == "workspace_mismatch"
    assert admitted(root, work, folder=root.workspaces / "7-2-x").code == "workspace_mismatch"
    proof.write_text(json.dumps({"allocation": ALLOCATION.hex, "owner": uuid4().hex}))
    assert admitted(root, work).code == "workspace_mismatch"
    proof.unlink()
    assert admitted(root, work).code == "workspace_mismatch"


@pytest.mark.case("W08")
def test_metadata_that_differs_is_told(root: Root, work: Work) -> None:
    (work / ".git" / "config").write_text("")

    refused = admitted(root, work)

    assert (refused.code, refused.facts["metadata"]) == ("metadata_changed", ["changed config"])


@pytest.mark.case("W08")
@pytest.mark.parametrize("edit", ["extra", "changed", "gone", "ignored"])
def test_a_tree_that_is_not_the_expected_head_is_unfit(root: Root, work: Work, edit: str) -> None:
    match edit:
        case "extra":
            (work / "extra").write_text("")
        case "changed":
            (work / "a.txt").write_text("ONE\n")
        case "gone":
            (work / "a.txt").unlink()
        case _:
            (work / ".env").write_text("SECRET")

    refused = admitted(root, work)

    paths = {"extra": "extra", "changed": "a.txt", "gone": "a.txt", "ignored": ".env"}
    assert (refused.code, refused.facts["paths"]) == ("tree_unfit", [paths[edit]])


@pytest.mark.case("W08")
@pytest.mark.case("J12")
def test_ignored_entries_known_from_the_settled_manifest_are_fit(root: Root, work: Work) -> None:
    (work / "node_modules").mkdir()
    (work / "node_modules" / "x").write_text("")

    assert admitted(root, work, ignored=("node_modules/",)).code == ""


@pytest.mark.case("W11")
def test_a_refusal_changes_nothing(root: Root, work: Work) -> None:
    (work / "a.txt").write_text("two\n")
    before = gits.snapshot(root.path)

    assert admitted(root, work).code == "tree_unfit"
    assert admitted(root, work, allocation=uuid4()).code == "workspace_mismatch"
    assert gits.snapshot(root.path) == before


@pytest.mark.case("W16")
def test_a_released_workspace_is_gone_with_its_proof_and_nothing_else(root: Root, work: Work) -> None:
    other = prepare(root, task=8, epoch=1, allocation=uuid4())
    trees.link("/etc", work / "etc")
    trees.link(other, work / "other")

    released = release(root, work.tree, ALLOCATION)

    assert released.gone
    assert names_in(root.workspaces) == [other.name, f"{other.name}.owner"]
    assert list(root.trash.iterdir()) == []
    assert Path("/etc").is_dir()


@pytest.mark.case("W16")
@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_took_the_place_of_a_workspace_is_not_removed(root: Root, work: Work, tmp_path: Path, kind: str) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    work.tree.rename(tmp_path / "aside")
    trees.link(tmp_path / "precious", work.tree) if kind == "link" else work.tree.write_text("x")

    with pytest.raises(Refusal) as refused:
        release(root, work.tree, ALLOCATION)

    assert refused.value.code == "workspace_mismatch"
    assert os.path.lexists(work.tree)
    assert (tmp_path / "precious" / "file").read_text() == "x"


@pytest.mark.case("W16")
def test_without_proof_nothing_is_removed(root: Root, work: Work, tmp_path: Path) -> None:
    (tmp_path / "7-2-" / ALLOCATION.hex).mkdir(parents=True)
    for folder, allocation in (
        (work.tree, uuid4()),
        (tmp_path / f"7-2-{ALLOCATION.hex}", ALLOCATION),
        (root.workspaces, ALLOCATION),
        (root.workspaces / ".." / "workspaces" / work.tree.name, ALLOCATION),
        (work.tree / "src", ALLOCATION),
    ):
        before = gits.snapshot(root.path)
        if os.path.lexists(folder):
            with pytest.raises(Refusal):
                release(root, folder, allocation)
        assert gits.snapshot(root.path) == before


@pytest.mark.case("W07")
def test_a_workspace_that_holds_a_persons_repository_is_not_removed(root: Root, work: Work) -> None:
    person = trees.repository(work / "mine")

    with pytest.raises(Refusal) as refused:
        release(root, work.tree, ALLOCATION, forbidden=[person])

    assert refused.value.code == "root_overlaps"
    assert person.is_dir()


def test_releasing_twice_and_releasing_nothing_are_no_errors(root: Root, work: Work) -> None:
    assert release(root, work.tree, ALLOCATION).gone
    assert release(root, work.tree, ALLOCATION).gone
    assert release(root, root.workspaces / folder_name(9, 1, uuid4()), uuid4()).gone


def test_a_release_cut_short_is_finished_by_the_next(root: Root, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(container: Path) -> list[str]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(trash, "empty", killed)
        with pytest.raises(KeyboardInterrupt):
            release(root, work.tree, ALLOCATION)
    assert not work.tree.exists()
    assert list(root.trash.iterdir()) != []

    assert release(root, work.tree, ALLOCATION).gone
    assert list(root.trash.iterdir()) == []


def test_a_workspace_nested_deeper_than_any_path_goes(root: Root, work: Work) -> None:
    here = os.open(work.tree, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("deeper", dir_fd=here)
        deeper = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)

    assert release(root, work.tree, ALLOCATION).gone


RELEASE_LOCKED = """
import os
from pathlib import Path
from uuid import UUID
from workspace.places.allocations import prepare, release
from workspace.disk.roots import open_root
root = open_root(Path(os.environ["FOLDER"], "root"))
folder = prepare(root, task=1, epoch=1, allocation=UUID(int=1))
(folder / "a" / "b" / "c").mkdir(parents=True)
(folder / "a" / "b" / "c" / "file").write_text("x")
for place in ("a/b/c/file", "a/b/c", "a/b", "a", ""):
    (folder / place).chmod(0)
print(release(root, folder, UUID(int=1)))
"""


@pytest.mark.case("W16")
@pytest.mark.hazard("H89")
def test_locked_folders_of_ours_are_opened_and_removed(tmp_path: Path) -> None:
    assert "gone=True" in trees.without_privileges(RELEASE_LOCKED, tmp_path)


@pytest.mark.hazard("H97")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files immutable")
def test_what_cannot_be_removed_is_told_and_stays(root: Root, work: Work) -> None:
    (work / "src" / "stuck").write_text("x")
    made = subprocess.run(["chattr", "+i", work / "src" / "stuck"], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this file system knows no immutable files")

    released = release(root, work.tree, ALLOCATION)

    left = next(root.trash.rglob("stuck"))
    subprocess.run(["chattr", "-i", left], check=True)
    assert not released.gone
    assert released.reason == "some of it could not be removed"
    assert released.left[0].startswith("src/stuck: ")
    assert release(root, work.tree, ALLOCATION).gone


@pytest.mark.hazard("H112")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_a_mount_in_a_workspace_is_never_emptied(root: Root, work: Work, tmp_path: Path, kind: str) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (work / "odd name").mkdir()
    options = ["--bind", tmp_path / "precious"] if kind == "bind" else ["-t", "tmpfs", "tmpfs"]
    if subprocess.run(["mount", *options, work / "odd name"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (work / "odd name" / "file").write_text("y")
        released = release(root, work.tree, ALLOCATION)
        kept = (work / "odd name" / "file").read_text()
    finally:
        subprocess.run(["umount", work / "odd name"], check=True)

    assert (released.gone, released.reason) == (False, "something is mounted there")
    assert kept == "y"
    assert release(root, work.tree, ALLOCATION).gone
