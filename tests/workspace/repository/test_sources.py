"""What is taken for a source, and what a revision means in it."""

import os
from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests import gits
from workspace.repository import repositories, sources


def test_a_plain_repository_is_described(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")

    source = sources.inspect_source(place)

    assert (source.path, source.git_dir, source.common) == (place, place / ".git", place / ".git")
    assert (source.bare, source.shallow, source.object_format) == (False, False, "sha1")
    assert (source.owner, source.head_branch) == (os.geteuid(), "main")


@pytest.mark.case("K09")
@pytest.mark.parametrize("name", ["with blanks", "n\u00f6n-\u00e4scii", 'q"uote', "co:lon", "back\\slash", "new\nline"])
def test_a_repository_of_any_name_is_read_and_fetched(tmp_path: Path, name: str) -> None:
    place = gits.person(tmp_path / name, {"d \u00fc/f": "content\n"})

    repo, base = gits.runner(tmp_path, place)

    assert list(repositories.listing(repo, base)) == ["d \u00fc/f".encode()]


@pytest.mark.case("K09")
def test_a_bare_source_is_read_and_fetched(tmp_path: Path) -> None:
    gits.git(gits.person(tmp_path / "source"), "clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))

    source = sources.inspect_source(tmp_path / "bare.git")
    repo, base = gits.runner(tmp_path, tmp_path / "bare.git")

    assert source.bare
    assert source.head_branch == "main"
    assert repositories.contains(repo, base)


@pytest.mark.case("K09")
def test_a_linked_worktree_is_read_at_its_own_head(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked tree"))
    theirs = gits.commit(tmp_path / "linked tree", {"b.txt": "two\n"})

    source = sources.inspect_source(tmp_path / "linked tree")
    repo, base = gits.runner(tmp_path, tmp_path / "linked tree")

    assert source.head_branch == "side"
    assert source.common == place / ".git"
    assert base == theirs
    assert list(repositories.listing(repo, base)) == [b"a.txt", b"b.txt"]


@pytest.mark.case("K09")
def test_a_sparse_source_gives_every_path(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source", {"in/a": "a", "out/b": "b"})
    gits.git(place, "sparse-checkout", "set", "in")
    assert not (place / "out").exists()

    repo, base = gits.runner(tmp_path, place)

    assert list(repositories.listing(repo, base)) == [b"in/a", b"out/b"]


@pytest.mark.case("K09")
def test_a_source_that_borrows_objects_is_fetched_whole(tmp_path: Path) -> None:
    gits.git(gits.person(tmp_path / "source"), "clone", "-q", "--shared", ".", str(tmp_path / "borrower"))

    repo, base = gits.runner(tmp_path, tmp_path / "borrower")

    assert not (repo.objects / "info" / "alternates").exists()
    assert repositories.read_blob(repo, repositories.listing(repo, base)[b"a.txt"].id) == b"one\n"


def test_the_gitdir_itself_and_a_file_url_name_the_repository_too(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "a b")

    assert sources.locate(place / ".git").path == place
    assert sources.locate(f"file://{str(place).replace(' ', '%20')}").path == place


@pytest.mark.parametrize("url", ["https://example.invalid/x.git", "ssh://host/x", "git@host:x.git", "host:x"])
def test_a_url_is_refused_by_its_own_code(url: str) -> None:
    with pytest.raises(Refusal) as refused:
        sources.inspect_source(url)

    assert refused.value.code == "source_url_unsupported"


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / ".git").write_text("gitdir: /nowhere/at/all\n")

    for name in ("empty", "file", "missing", "dangling"):
        with pytest.raises(Refusal) as refused:
            sources.inspect_source(tmp_path / name)
        assert refused.value.code == "source_not_a_repository"


@pytest.mark.hazard("H50")
def test_a_folder_inside_a_repository_is_not_taken_for_it(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source", {"d/f": "x"})

    with pytest.raises(Refusal) as refused:
        sources.inspect_source(place / "d")

    assert refused.value.code == "source_not_a_repository"
    assert str(place) in refused.value.hint


@pytest.mark.hazard("H20")
def test_a_repository_git_cannot_read_is_refused_and_not_retried(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "config", "core.repositoryformatversion", "1")
    gits.git(place, "config", "extensions.nonesuch", "1")

    with pytest.raises(Refusal) as refused:
        sources.inspect_source(place)

    assert refused.value.code == "source_unreadable"


@pytest.mark.hazard("H16")
@pytest.mark.parametrize("key", ["extensions.partialClone", "remote.o.promisor"])
def test_a_partial_clone_is_refused_and_asks_no_remote(tmp_path: Path, key: str) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "config", "core.repositoryformatversion", "1")
    gits.git(place, "config", "remote.o.uploadpack", f"touch {tmp_path / 'proof'}; git-upload-pack")
    gits.git(place, "config", "remote.o.url", str(place))
    gits.git(place, "config", key, "true")

    with pytest.raises(Refusal) as refused:
        sources.inspect_source(place)

    assert refused.value.code == "source_partial"
    assert not (tmp_path / "proof").exists()


def test_a_promisor_that_is_switched_off_is_none(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "config", "remote.o.promisor", "false")

    assert sources.inspect_source(place).path == place


def test_a_branch_a_tag_an_id_and_an_expression_resolve_to_their_commit(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    first = gits.git(place, "rev-parse", "HEAD")
    gits.git(place, "tag", "-a", "-m", "x", "v1")
    second = gits.commit(place, {"a.txt": "two\n"})
    source = sources.inspect_source(place)

    found = {text: sources.resolve(source, text) for text in ("main", "HEAD", second, second[:9], "refs/heads/main")}
    older = {text: sources.resolve(source, text) for text in ("v1", "refs/tags/v1", "main~1", first)}

    assert set(found.values()) == {second}
    assert set(older.values()) == {first}


@pytest.mark.parametrize(
    "text", ["", "nope", "HEAD:a.txt", "HEAD^{tree}", "f" * 40, "-x", "--all", "a\nb", "^main", "\0"]
)
def test_what_names_no_commit_is_a_missing_base(tmp_path: Path, text: str) -> None:
    source = sources.inspect_source(gits.person(tmp_path / "source"))

    with pytest.raises(Refusal) as refused:
        sources.resolve(source, text)

    assert refused.value.code == "base_missing"


def test_a_repository_without_a_commit_has_no_base(tmp_path: Path) -> None:
    place = tmp_path / "source"
    place.mkdir()
    gits.git(place, "init", "-q", "-b", "main")

    with pytest.raises(Refusal) as refused:
        sources.resolve(sources.inspect_source(place), "main")

    assert refused.value.code == "base_missing"


@pytest.mark.hazard("H64")
def test_a_branch_and_a_tag_of_one_name_that_differ_are_ambiguous(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    gits.git(place, "tag", "main")
    newer = gits.commit(place, {"a.txt": "two\n"})
    source = sources.inspect_source(place)

    with pytest.raises(Refusal) as refused:
        sources.resolve(source, "main")

    assert refused.value.code == "base_ambiguous"
    assert sources.resolve(source, "refs/heads/main") == newer


@pytest.mark.hazard("H64")
def test_hostile_ref_names_change_nothing_of_what_plain_ones_mean(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source")
    old = gits.git(place, "rev-parse", "HEAD")
    new = gits.commit(place, {"a.txt": "two\n"})
    for ref in ("refs/heads/-x", "refs/heads/HEAD", f"refs/heads/{new}"):
        gits.git(place, "update-ref", ref, old)
    source = sources.inspect_source(place)

    assert sources.resolve(source, "HEAD") == new
    assert sources.resolve(source, new) == new
    assert sources.resolve(source, "-x") == old


def test_paths_that_git_would_write_with_other_bytes_are_listed(tmp_path: Path) -> None:
    rules = "*.l filter=lfs -text\nc eol=crlf\ni ident\nu working-tree-encoding=UTF-16LE\nplain text=auto eol=lf\n"
    files = {".gitattributes": rules, "big.l": "x", "sub/b\u00fcg.l": "x", "c": "x", "i": "x", "plain": "x"}
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "source", files))

    found = sources.converting_paths(repo, base)

    assert {(each.path, each.attribute, each.value) for each in found} == {
        ("big.l", "filter", "lfs"),
        ("sub/b\u00fcg.l", "filter", "lfs"),
        ("c", "eol", "crlf"),
        ("i", "ident", "set"),
    }


def test_a_commit_without_attributes_converts_nothing(tmp_path: Path) -> None:
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "source"))

    assert sources.converting_paths(repo, base) == ()
