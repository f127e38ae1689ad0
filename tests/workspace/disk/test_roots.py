"""Where the product may write, and where it refuses to."""

import os
import stat
from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests import gits, trees
from workspace.disk.roots import open_root, refuse_overlap


def refusal(path: Path, *forbidden: Path) -> Refusal:
    with pytest.raises(Refusal) as refused:
        open_root(path, forbidden=forbidden)
    assert refused.value.hint
    return refused.value


def test_every_folder_of_a_root_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        root = open_root(tmp_path / "new" / "root")
    finally:
        os.umask(before)

    folders = (root.path.parent, root.path, root.repositories, root.workspaces, root.attempts, root.trash)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 6


def test_a_root_keeps_its_token_however_often_it_is_opened(tmp_path: Path) -> None:
    first = open_root(tmp_path / "root").owner

    second = open_root(tmp_path / "root").owner

    assert first == second
    assert [path.name for path in (tmp_path / "root").iterdir() if path.name.startswith(".")] == []


def test_folders_of_a_root_that_were_opened_up_are_closed_again(tmp_path: Path) -> None:
    root = open_root(tmp_path / "root")
    root.workspaces.chmod(0o777)

    open_root(tmp_path / "root")

    assert stat.S_IMODE(root.workspaces.stat().st_mode) == 0o700


@pytest.mark.case("W14")
def test_a_root_inside_a_repository_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person")

    refused = refusal(person / "deep" / "root")

    assert refused.code == "root_in_repository"
    assert refused.facts["repository"] == str(person)
    assert not (person / "deep").exists()


@pytest.mark.case("W14")
@pytest.mark.parametrize("marker", ["gitdir: /elsewhere", ""])
def test_a_git_file_or_a_broken_repository_counts_as_one(tmp_path: Path, marker: str) -> None:
    (tmp_path / ".git").write_text(marker)

    assert refusal(tmp_path / "root").code == "root_in_repository"


@pytest.mark.case("W14")
def test_a_root_inside_a_bare_repository_is_refused(tmp_path: Path) -> None:
    gits.git(tmp_path, "init", "-q", "--bare", "bare.git")

    assert refusal(tmp_path / "bare.git" / "root").code == "root_in_repository"


@pytest.mark.case("W14")
@pytest.mark.case("K03")
@pytest.mark.parametrize("mode", [0o777, 0o772, 0o1777])
def test_a_root_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root").chmod(mode)

    assert refusal(tmp_path / "root").code == "root_writable_by_others"


@pytest.mark.case("W14")
def test_a_folder_above_the_root_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    refused = refusal(tmp_path / "open" / "mine" / "root")

    assert refused.code == "root_writable_by_others"
    assert refused.facts["folder"] == str(tmp_path / "open")


def test_a_sticky_folder_above_the_root_is_fine(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)

    root = open_root(tmp_path / "shared" / "root")

    assert root.workspaces.is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_above_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", trees.NOBODY, trees.NOBODY)

    assert refusal(tmp_path / "theirs" / "root").code == "root_writable_by_others"


def test_a_link_to_the_root_is_resolved_before_anything_is_judged(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person")
    trees.link(person, tmp_path / "innocent")

    assert refusal(tmp_path / "innocent" / "root").code == "root_in_repository"


@pytest.mark.case("W07")
@pytest.mark.parametrize("where", [".", "..", "inside"])
def test_a_root_that_is_holds_or_lies_in_the_persons_repository_is_refused(tmp_path: Path, where: str) -> None:
    person = tmp_path / "above" / "person"
    person.mkdir(parents=True)

    assert refusal(person / where, person).code == "root_overlaps"


@pytest.mark.case("W07")
@pytest.mark.parametrize("where", [".", ".."])
def test_a_root_that_is_or_holds_the_home_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    home = tmp_path / "homes" / "me"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))

    assert refusal(home / where).code == "root_overlaps"


def test_a_root_in_the_home_folder_is_where_it_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    root = open_root(Path("~/.local/state/weighlock"))

    assert root.path == tmp_path / ".local" / "state" / "weighlock"


@pytest.mark.case("W07")
def test_the_folder_of_a_workspace_may_not_hold_a_persons_repository(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        refuse_overlap(tmp_path / "workspace", [tmp_path / "workspace" / "person"])

    assert refused.value.code == "root_overlaps"


def test_a_root_beneath_a_file_is_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert refusal(tmp_path / "file" / "root").code == "root_unwritable"


def test_a_loop_of_links_is_unwritable(tmp_path: Path) -> None:
    trees.link("loop", tmp_path / "loop")

    assert refusal(tmp_path / "loop").code == "root_unwritable"


def test_a_link_in_place_of_a_folder_of_the_root_is_refused(tmp_path: Path) -> None:
    root = open_root(tmp_path / "root")
    root.trash.rmdir()
    trees.link(tmp_path, root.trash)

    assert refusal(tmp_path / "root").code == "root_unwritable"


def test_a_user_is_told_of_a_root_they_cannot_write(tmp_path: Path) -> None:
    script = """
import os
from pathlib import Path
from statemachine.refusals import Refusal
from workspace.disk.roots import open_root
locked = Path(os.environ["FOLDER"], "locked")
locked.mkdir(mode=0o500)
try:
    open_root(locked / "root")
except Refusal as refused:
    print(refused.code)
"""

    assert trees.without_privileges(script, tmp_path) == "root_unwritable\n"
