"""Repositories in, under, beside and instead of the one that was made."""

from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests import gits, trees
from tests.trees import Work
from workspace.disk.roots import open_root


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path)


@pytest.fixture
def with_submodule(tmp_path: Path) -> Work:
    person = gits.person(tmp_path / "person")
    gits.git(person, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (person / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./x\n\tignore = all\n')
    gits.git(person, "add", ".gitmodules")
    gits.git(person, "commit", "-qm", "submodule")
    return trees.work_on(tmp_path, person)


@pytest.mark.hazard("H41")
def test_a_repository_under_a_gitlink_runs_nothing_and_is_told(with_submodule: Work, tmp_path: Path) -> None:
    trees.repository(with_submodule / "sub")
    gits.git(with_submodule / "sub", "config", "core.fsmonitor", f"touch {tmp_path / 'proof'}; false")

    manifest = with_submodule.inspect().manifest

    assert manifest["gitlink_content"] == ["sub/.git", "sub/inner.txt"]
    assert not (tmp_path / "proof").exists()


@pytest.mark.hazard("H42")
def test_files_under_a_gitlink_are_told(with_submodule: Work) -> None:
    (with_submodule / "sub" / "payload").write_text("x")

    assert with_submodule.inspect().manifest["gitlink_content"] == ["sub/payload"]


@pytest.mark.hazard("H44")
def test_a_submodule_that_asks_to_be_ignored_is_not(with_submodule: Work) -> None:
    trees.repository(with_submodule / "sub")
    gits.git(with_submodule / "sub", "commit", "-q", "--allow-empty", "-m", "2")

    assert with_submodule.inspect().manifest["gitlink_content"]


@pytest.mark.hazard("H45")
def test_a_repository_that_a_tool_left_is_told(work: Work) -> None:
    trees.repository(work / "app")

    assert work.changes()["app"]["new"]["type"] == "repository"


@pytest.mark.hazard("H46")
def test_a_folder_named_git_that_is_no_repository_is_told(work: Work) -> None:
    (work / "q" / ".git" / "hooks").mkdir(parents=True)
    (work / "q" / "z").write_text("y")

    assert work.kinds() == {"q/.git": "add", "q/z": "add"}


@pytest.mark.hazard("H48")
def test_a_git_file_that_points_elsewhere_is_told_and_not_followed(work: Work, tmp_path: Path) -> None:
    victim = gits.person(tmp_path / "victim")
    (work / ".git").rename(tmp_path / "aside")
    (work / ".git").write_text(f"gitdir: {victim}/.git\n")
    before = gits.snapshot(victim)

    manifest = work.inspect().manifest

    assert manifest["metadata_changed"] is True
    assert gits.snapshot(victim) == before


@pytest.mark.hazard("H50")
def test_a_root_in_a_repository_is_refused_so_that_discovery_finds_none(tmp_path: Path) -> None:
    parent = gits.person(tmp_path / "parent")

    with pytest.raises(Refusal) as refused:
        open_root(parent / "ws")

    assert refused.value.code == "root_in_repository"


@pytest.mark.hazard("H51")
@pytest.mark.parametrize("move", [("checkout", "-q", "--orphan", "o"), ("reset", "-q", "--soft", "HEAD~2")])
def test_commits_resets_and_orphans_hide_no_change(tmp_path: Path, move: tuple[str, ...]) -> None:
    person = gits.person(tmp_path / "person")
    gits.commit(person, {"b.txt": "two\n"})
    work = trees.work_on(tmp_path, person)
    (work / "a.txt").write_text("evil\n")
    gits.git(work.tree, "commit", "-qam", "self")
    gits.git(work.tree, *move)

    manifest = work.inspect().manifest

    assert [(change["path"], change["kind"]) for change in manifest["changes"]] == [("a.txt", "modify")]
    assert manifest["agent_commits"] is True


@pytest.mark.hazard("H52")
def test_a_worktree_linked_to_it_is_told(work: Work, tmp_path: Path) -> None:
    gits.git(work.tree, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")

    manifest = work.inspect().manifest

    assert manifest["metadata_changed"] is True
    assert manifest["agent_commits"] is True


@pytest.mark.hazard("H53")
def test_a_forged_object_hides_nothing(work: Work) -> None:
    blob = gits.git(work.tree, "rev-parse", "HEAD:a.txt")
    trees.loosen(work / ".git")
    trees.forge(work / ".git", blob, b"evil\n")
    (work / "a.txt").write_text("evil\n")

    assert work.kinds() == {"a.txt": "modify"}


@pytest.mark.hazard("H54")
def test_an_agent_that_destroys_its_objects_destroys_nobody_elses(work: Work, tmp_path: Path) -> None:
    for path in (work / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_text("x")

    gits.git(work.repo.path, "fsck", "--strict")
    gits.git(tmp_path / "person", "fsck", "--strict")
    assert work.kinds() == {}


@pytest.mark.hazard("H55")
def test_alternates_of_the_agents_are_told(work: Work, tmp_path: Path) -> None:
    (work / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}/person/.git/objects\n")

    assert work.inspect().manifest["metadata"] == ["added objects/info/alternates"]


@pytest.mark.hazard("H20")
def test_a_repository_git_cannot_read_is_no_trouble(work: Work) -> None:
    gits.git(work.tree, "config", "core.repositoryformatversion", "1")
    gits.git(work.tree, "config", "extensions.nonesuch", "1")

    manifest = work.inspect().manifest

    assert (manifest["metadata"], manifest["changes"]) == (["changed config"], [])
