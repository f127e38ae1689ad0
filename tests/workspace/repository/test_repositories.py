"""The runner repository: how it is made, what may come into it, and that sources are only read."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import NotFound, Refusal
from tests import gits
from workspace.disk.roots import Root, open_root
from workspace.repository import refs, repositories, sources
from workspace.repository.repositories import RunnerRepository


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return open_root(tmp_path / "root")


def stored(repo: RunnerRepository) -> list[Path]:
    return [path for path in repo.objects.rglob("*") if path.is_file()]


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_new_one_is_bare_private_and_logs_its_refs(root: Root, object_format: str) -> None:
    runner = uuid4()

    repo = repositories.create(root, runner, object_format)

    assert repo.path == root.repositories / f"{runner.hex}.git"
    assert repo.object_format == object_format
    assert all(stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0 for path in [repo.path, *repo.path.rglob("*")])
    assert gits.git(repo.path, "config", "core.logAllRefUpdates") == "always"
    assert not (repo.path / "hooks").exists()


def test_making_it_twice_opens_the_first_and_leaves_nothing_beside_it(root: Root) -> None:
    runner = uuid4()

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: repositories.create(root, runner, "sha1"), range(8)))

    assert set(made) == {repositories.open_repository(root, runner)}
    assert [path.name for path in root.repositories.iterdir()] == [f"{runner.hex}.git"]


def test_one_of_another_object_format_is_not_used(root: Root) -> None:
    runner = uuid4()
    repositories.create(root, runner, "sha1")

    with pytest.raises(Refusal) as refused:
        repositories.create(root, runner, "sha256")

    assert refused.value.code == "object_format_mismatch"


def test_one_that_is_not_there_is_not_found(root: Root) -> None:
    with pytest.raises(NotFound) as refused:
        repositories.open_repository(root, uuid4())

    assert refused.value.code == "repository_missing"


@pytest.mark.case("K03")
@pytest.mark.parametrize("where", ["..", ".", "objects", "refs", "config"])
def test_one_that_others_may_write_to_is_refused(root: Root, where: str) -> None:
    runner = uuid4()
    place = repositories.create(root, runner, "sha1").path / where
    place.chmod(place.stat().st_mode | 0o020)

    with pytest.raises(Refusal) as refused:
        repositories.open_repository(root, runner)

    assert refused.value.code == "repository_unsafe"


@pytest.mark.hazard("H18")
def test_one_that_holds_a_hook_is_refused(root: Root) -> None:
    runner = uuid4()
    hook = repositories.create(root, runner, "sha1").path / "hooks" / "update"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n")

    with pytest.raises(Refusal) as refused:
        repositories.open_repository(root, runner)

    assert refused.value.code == "repository_unsafe"


@pytest.mark.hazard("H55")
def test_one_that_borrows_objects_is_refused(root: Root, tmp_path: Path) -> None:
    runner = uuid4()
    repo = repositories.create(root, runner, "sha1")
    (repo.objects / "info" / "alternates").write_text(f"{tmp_path}\n")

    with pytest.raises(Refusal) as refused:
        repositories.open_repository(root, runner)

    assert refused.value.code == "repository_unsafe"


@pytest.mark.case("K01")
def test_a_fetch_leaves_the_source_byte_for_byte_as_it_was(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source", {"a": "1", "d/b": "2"})
    gits.git(place, "tag", "-a", "-m", "x", "v1")
    (place / "a").write_text("not committed")
    before = gits.snapshot(place)

    gits.runner(tmp_path, place)

    assert gits.snapshot(place) == before


@pytest.mark.hazard("H60")
@pytest.mark.hazard("H61")
def test_a_fetch_brings_one_commit_and_no_ref(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "tag", "-a", "-m", "x", "v1")
    gits.git(place, "branch", "release")
    other = gits.git(place, "commit-tree", "-m", "elsewhere", "HEAD^{tree}")
    gits.git(place, "update-ref", "refs/heads/other", other)

    repo, base = gits.runner(tmp_path, place)

    assert refs.listing(repo, "refs") == {}
    assert not (repo.path / "FETCH_HEAD").exists()
    assert repositories.contains(repo, base)
    assert not repositories.contains(repo, other)


@pytest.mark.hazard("H54")
def test_a_fetch_shares_no_file_with_the_source(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "repack", "-adq")
    theirs = {path.stat().st_ino for path in (place / ".git").rglob("*")}

    repo, _ = gits.runner(tmp_path, place)

    assert stored(repo)
    assert all(path.stat().st_nlink == 1 and path.stat().st_ino not in theirs for path in stored(repo))


def test_a_second_fetch_of_the_same_commit_writes_nothing(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    repo, base = gits.runner(tmp_path, place)
    before = gits.snapshot(repo.path)

    repositories.fetch(repo, sources.inspect_source(place), base)

    assert gits.snapshot(repo.path) == before


def test_a_later_fetch_brings_only_what_is_new(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source", {"big": os.urandom(200_000)})
    repo, base = gits.runner(tmp_path, place)
    refs.hold(repo, refs.base_ref(1), base)
    size = sum(path.stat().st_size for path in stored(repo))
    newer = gits.commit(place, {"small": "x"})

    repositories.fetch(repo, sources.inspect_source(place), newer)

    assert list(repositories.listing(repo, newer)) == [b"big", b"small"]
    assert sum(path.stat().st_size for path in stored(repo)) < size + 10_000


def test_a_commit_the_source_does_not_have_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    repo, _ = gits.runner(tmp_path, place)
    before = stored(repo)

    with pytest.raises(Refusal) as refused:
        repositories.fetch(repo, sources.inspect_source(place), "1" * 40)

    assert refused.value.code == "source_corrupt"
    assert stored(repo) == before


def test_a_source_of_another_object_format_is_refused(tmp_path: Path) -> None:
    repo, _ = gits.runner(tmp_path, gits.person(tmp_path / "source"))
    other = sources.inspect_source(gits.person(tmp_path / "other", None, "--object-format=sha256"))

    with pytest.raises(Refusal) as refused:
        repositories.fetch(repo, other, sources.resolve(other, "HEAD"))

    assert refused.value.code == "object_format_mismatch"


@pytest.mark.case("K09")
def test_a_sha256_source_is_fetched_and_listed(tmp_path: Path) -> None:
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "source", None, "--object-format=sha256"))

    assert len(base) == 64
    assert repositories.listing(repo, base)[b"a.txt"].id == gits.object_id("blob", b"one\n", "sha256")


@pytest.mark.case("K09")
@pytest.mark.hazard("H63")
def test_a_shallow_source_is_fetched_as_far_as_it_goes(tmp_path: Path) -> None:
    deep = gits.person(tmp_path / "deep")
    middle = gits.commit(deep, {"a.txt": "two\n"})
    newest = gits.commit(deep, {"a.txt": "three\n"})
    gits.git(tmp_path, "clone", "-q", "--depth", "2", f"file://{deep}", "shallow")

    repo, base = gits.runner(tmp_path, tmp_path / "shallow")

    assert sources.inspect_source(tmp_path / "shallow").shallow
    assert base == newest
    assert (repo.path / "shallow").read_text() == f"{middle}\n"
    assert gits.git(repo.path, "rev-list", base).split() == [newest, middle]
    assert gits.git(repo.path, "fsck", "--strict") == "dangling commit " + newest


@pytest.mark.case("K09")
def test_a_shallow_source_cuts_nothing_that_is_here_in_full(tmp_path: Path) -> None:
    deep = gits.person(tmp_path / "deep")
    repo, root_commit = gits.runner(tmp_path, deep)
    middle = gits.commit(deep, {"a.txt": "two\n"})
    repositories.fetch(repo, sources.inspect_source(deep), middle)
    newest = gits.commit(deep, {"a.txt": "three\n"})
    gits.git(tmp_path, "clone", "-q", "--depth", "2", f"file://{deep}", "shallow")

    repositories.fetch(repo, sources.inspect_source(tmp_path / "shallow"), newest)

    assert gits.git(repo.path, "rev-list", newest).split() == [newest, middle, root_commit]


@pytest.mark.hazard("H91")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_a_source_of_another_user_is_read_without_trusting_it_for_good(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    for path in [place, *place.rglob("*")]:
        os.chown(path, 65534, 65534)

    repo, base = gits.runner(tmp_path, place)

    assert sources.inspect_source(place).owner == 65534
    assert repositories.contains(repo, base)


@pytest.mark.case("K04")
def test_twelve_fetches_at_once_all_succeed_and_leave_no_lock(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    repo, _ = gits.runner(tmp_path, place)
    commits = [gits.commit(place, {f"f{number}": os.urandom(20_000)}) for number in range(6)]
    source = sources.inspect_source(place)

    def bring(number: int) -> None:
        wanted = commits[number % len(commits)]
        repositories.fetch(repo, source, wanted)
        refs.hold(repo, refs.base_ref(number), wanted)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(bring, range(12)))

    assert refs.listing(repo, "refs") == {refs.base_ref(number): commits[number % 6] for number in range(12)}
    assert not list(repo.path.rglob("*.lock"))
    assert gits.git(repo.path, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.case("K04")
def test_fetches_of_differently_cut_sources_at_once_all_succeed(tmp_path: Path) -> None:
    deep = gits.person(tmp_path / "deep")
    for number in range(6):
        gits.commit(deep, {"a.txt": f"{number}\n"})
    repo = repositories.create(open_root(tmp_path / "root"), uuid4(), "sha1")
    places = []
    for depth in range(1, 5):
        gits.git(tmp_path, "clone", "-q", "--depth", f"{depth}", f"file://{deep}", f"cut{depth}")
        places.append(sources.inspect_source(tmp_path / f"cut{depth}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda place: repositories.fetch(repo, place, sources.resolve(place, "HEAD")), places))

    assert gits.git(repo.path, "rev-list", sources.resolve(places[0], "HEAD"))
    assert [path.name for path in repo.path.glob("shallow*")] == ["shallow"]


def test_a_listing_keeps_odd_names_as_bytes_and_knows_modes_and_sizes(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    for name in (b"n\nl", b"bad\xff", b"tab\t", b'q"'):
        Path(os.fsdecode(os.fsencode(place) + b"/" + name)).write_bytes(b"xyz")
    (place / "run").write_text("#!/bin/sh\n")
    (place / "run").chmod(0o755)
    (place / "link").symlink_to("a.txt")
    base = gits.commit(place, {})

    found = repositories.listing(gits.runner(tmp_path, place)[0], base, sizes=True)

    assert {b"n\nl", b"bad\xff", b"tab\t", b'q"'} < found.keys()
    assert (found[b"bad\xff"].size, found[b"run"].mode, found[b"link"].mode) == (3, "100755", "120000")


def test_a_commit_is_read_with_its_parents_and_message(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    parent = gits.git(place, "rev-parse", "HEAD")
    gits.commit(place, {"b": "x"}, "subject\n\nbody\n\nparent deadbeef")
    repo, base = gits.runner(tmp_path, place)

    found = repositories.commit_info(repo, base)

    assert (found.id, found.parents) == (base, (parent,))
    assert found.message == "subject\n\nbody\n\nparent deadbeef\n"
    assert found.author.startswith("t@e <t@e> ")


@pytest.mark.hazard("H71")
@pytest.mark.parametrize("date", ["@9223372036854775807 +0000", "@0 +9999", "@1 -0730"])
def test_a_commit_of_an_impossible_date_is_fetched_and_read(tmp_path: Path, date: str) -> None:
    place = gits.person(tmp_path / "source")
    odd = gits.git(place, "commit-tree", "-m", "x", "HEAD^{tree}", env={"GIT_AUTHOR_DATE": date})
    gits.git(place, "update-ref", "refs/heads/odd", odd)

    repo, base = gits.runner(tmp_path, place, "odd")

    assert repositories.commit_info(repo, base).author.startswith("t@e <t@e> ")


def test_ancestry_and_presence_are_told(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    older = gits.git(place, "rev-parse", "HEAD")
    newer = gits.commit(place, {"b": "x"})
    repo, _ = gits.runner(tmp_path, place)

    assert repositories.is_ancestor(repo, older, newer)
    assert repositories.is_ancestor(repo, newer, newer)
    assert not repositories.is_ancestor(repo, newer, older)
    assert not repositories.contains(repo, "1" * 40)


@pytest.mark.hazard("H118")
def test_ancestry_of_what_is_not_here_is_an_error_and_no_answer(tmp_path: Path) -> None:
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "source"))

    with pytest.raises(Refusal) as refused:
        repositories.is_ancestor(repo, "1" * 40, base)

    assert refused.value.code == "git_failed"


@pytest.mark.case("X07")
@pytest.mark.parametrize("text", ["", "main", "0" * 40, "a" * 39, "A" * 40, "a" * 64, "a" * 40 + "\n", "--all"])
def test_a_malformed_id_is_refused_before_any_use(tmp_path: Path, text: str) -> None:
    repo = RunnerRepository(tmp_path, "sha1")

    with pytest.raises(Refusal) as refused:
        repositories.check_id(repo, text)

    assert refused.value.code == "bad_object_id"
