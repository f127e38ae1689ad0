"""Refs: named by us, moved by compare-and-swap, never by force."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from statemachine.refusals import LostRace, Refusal
from tests import gits
from workspace.repository import refs
from workspace.repository.repositories import RunnerRepository

ATTEMPT = UUID("00000000-0000-4000-8000-000000000001")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return gits.person(tmp_path / "source")


@pytest.fixture
def repo(tmp_path: Path, place: Path) -> RunnerRepository:
    gits.commit(place, {"a.txt": "two\n"})
    return gits.runner(tmp_path, place)[0]


@pytest.fixture
def old(place: Path, repo: RunnerRepository) -> str:
    return gits.git(place, "rev-parse", "HEAD~1")


@pytest.fixture
def new(place: Path, repo: RunnerRepository) -> str:
    return gits.git(place, "rev-parse", "HEAD")


def test_names_have_a_fixed_depth_and_nothing_of_a_users(repo: RunnerRepository) -> None:
    named = [refs.task_ref(7), refs.base_ref(7)]
    named += [make(ATTEMPT) for make in (refs.attempt_ref, refs.discarded_ref, refs.partial_ref)]

    assert named == [
        "refs/weighlock/tasks/7",
        "refs/weighlock/base/7",
        f"refs/weighlock/attempts/{ATTEMPT}",
        f"refs/weighlock/discarded/{ATTEMPT}",
        f"refs/weighlock/partial/{ATTEMPT}",
    ]


def test_a_ref_is_made_moved_read_and_removed(repo: RunnerRepository, old: str, new: str) -> None:
    ref = refs.task_ref(1)

    refs.update(repo, ref, new=old, old=None)
    refs.update(repo, ref, new=new, old=old)
    moved = refs.read(repo, ref)
    refs.delete(repo, ref, old=new)

    assert moved == new
    assert refs.read(repo, ref) is None


def test_every_move_is_in_the_reflog(repo: RunnerRepository, old: str, new: str) -> None:
    ref = refs.task_ref(1)

    refs.update(repo, ref, new=old, old=None)
    refs.update(repo, ref, new=new, old=old)

    lines = (repo.path / "logs" / ref).read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["0" * 40, old], [old, new]]


def test_a_ref_that_holds_something_else_is_not_moved(repo: RunnerRepository, old: str, new: str) -> None:
    ref = refs.task_ref(1)
    refs.update(repo, ref, new=new, old=None)

    for expected in (old, None):
        with pytest.raises(LostRace) as refused:
            refs.update(repo, ref, new=old, old=expected)
        assert refused.value.code == "conflict"
        assert refused.value.facts["found"] == new
    assert refs.read(repo, ref) == new


def test_a_ref_that_holds_something_else_is_not_removed(repo: RunnerRepository, old: str, new: str) -> None:
    ref = refs.task_ref(1)
    refs.update(repo, ref, new=new, old=None)

    with pytest.raises(LostRace):
        refs.delete(repo, ref, old=old)

    assert refs.read(repo, ref) == new


def test_a_move_that_was_made_before_is_no_conflict(repo: RunnerRepository, old: str, new: str) -> None:
    ref = refs.task_ref(1)
    refs.update(repo, ref, new=old, old=None)
    refs.update(repo, ref, new=new, old=old)

    refs.update(repo, ref, new=new, old=old)
    refs.hold(repo, ref, new)
    refs.delete(repo, ref, old=new)
    refs.delete(repo, ref, old=new)

    assert refs.read(repo, ref) is None


@pytest.mark.case("K04")
def test_one_of_many_movers_wins(repo: RunnerRepository, old: str, new: str) -> None:
    ref = refs.task_ref(1)
    refs.update(repo, ref, new=old, old=None)
    contenders = [gits.git(repo.path, "commit-tree", "-p", old, "-m", f"{n}", f"{old}^{{tree}}") for n in range(8)]

    def move(wanted: str) -> bool:
        try:
            refs.update(repo, ref, new=wanted, old=old)
        except LostRace:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(move, contenders))

    assert won.count(True) == 1
    assert refs.read(repo, ref) == contenders[won.index(True)]


@pytest.mark.case("K05")
@pytest.mark.hazard("H103")
def test_a_lock_in_the_way_is_waited_for_then_named_and_never_removed(
    repo: RunnerRepository, old: str, new: str
) -> None:
    ref = refs.task_ref(1)
    refs.update(repo, ref, new=old, old=None)
    lock = repo.path / f"{ref}.lock"
    lock.write_text("a live one, for all we know")

    with pytest.raises(LostRace) as refused:
        refs.update(repo, ref, new=new, old=old)

    assert refused.value.code == "lock_timeout"
    assert str(lock) in refused.value.hint
    assert lock.read_text() == "a live one, for all we know"
    assert refs.read(repo, ref) == old
    lock.unlink()
    refs.update(repo, ref, new=new, old=old)
    assert refs.read(repo, ref) == new


def test_refs_are_found_though_they_were_packed_away(repo: RunnerRepository, old: str, new: str) -> None:
    refs.update(repo, refs.task_ref(1), new=old, old=None)
    gits.git(repo.path, "pack-refs", "--all", "--prune")

    refs.hold(repo, refs.task_ref(1), old)
    refs.update(repo, refs.task_ref(1), new=new, old=old)

    assert refs.read(repo, refs.task_ref(1)) == new


def test_reading_one_name_does_not_find_its_neighbours(repo: RunnerRepository, old: str) -> None:
    refs.update(repo, refs.task_ref(11), new=old, old=None)

    assert refs.read(repo, refs.task_ref(1)) is None
    assert refs.read(repo, "refs/weighlock/tasks") is None
    assert refs.listing(repo, "refs/weighlock/tasks") == {refs.task_ref(11): old}


@pytest.mark.case("P08")
def test_a_discarded_commit_stays_under_its_own_name_when_the_head_goes_back(
    repo: RunnerRepository, old: str, new: str
) -> None:
    attempt = uuid4()
    refs.hold(repo, refs.task_ref(1), new)

    refs.hold(repo, refs.discarded_ref(attempt), new)
    refs.update(repo, refs.task_ref(1), new=old, old=new)

    assert refs.listing(repo, refs.PREFIX) == {refs.task_ref(1): old, refs.discarded_ref(attempt): new}


@pytest.mark.hazard("H64")
@pytest.mark.parametrize(
    "name",
    ["", "a..b", "a b", "-x", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "@", "a@{1}", "a:b", "a*", "a\nb", "a."],
)
def test_a_branch_that_git_would_not_have_is_refused_before_it_is_a_refspec(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        refs.branch_ref(name)

    assert refused.value.code == "bad_branch"


@pytest.mark.parametrize("name", ["main", "feature/x", "v1.0", "\u00fcml\u00e4ut", "a-b_c", "HEAD"])
def test_an_ordinary_branch_has_a_full_name(name: str) -> None:
    assert refs.branch_ref(name) == f"refs/heads/{name}"
