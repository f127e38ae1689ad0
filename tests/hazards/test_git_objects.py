"""Objects and refs that lie: what comes into the runner repository is what its ids say, and whole."""

import os
import zlib
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from tests import gits
from workspace.disk.roots import open_root
from workspace.repository import refs, repositories, sources
from workspace.results import exports


def loose(source: Path, identity: str) -> Path:
    place = source / ".git" / "objects" / identity[:2] / identity[2:]
    place.chmod(0o644)
    return place


def refused(tmp_path: Path, source: Path) -> Refusal:
    """Fetch in vain, and prove that nothing came in."""
    looked = sources.inspect_source(source)
    repo = repositories.create(open_root(tmp_path / "root"), uuid4(), looked.object_format)
    with pytest.raises(Refusal) as found:
        repositories.fetch(repo, looked, gits.git(source, "rev-parse", "HEAD"))
    assert not [path for path in repo.objects.rglob("*") if path.is_file()]
    assert refs.listing(repo, "refs") == {}
    return found.value


@pytest.mark.hazard("H53")
def test_a_forged_loose_object_is_not_believed(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "source", {"a.txt": "good\n"})
    forged = zlib.compress(b"blob 5\0evil\n")
    loose(source, gits.object_id("blob", b"good\n")).write_bytes(forged)

    assert refused(tmp_path, source).code == "source_corrupt"


@pytest.mark.parametrize("what", ["blob", "tree", "parent"])
def test_a_source_that_lacks_an_object_is_refused(tmp_path: Path, what: str) -> None:
    source = gits.person(tmp_path / "source")
    gits.commit(source, {"d/b": "two\n"})
    name = {"blob": "HEAD:d/b", "tree": "HEAD:d", "parent": "HEAD~1"}[what]
    loose(source, gits.git(source, "rev-parse", name)).unlink()

    assert refused(tmp_path, source).code == "source_corrupt"


@pytest.mark.hazard("H35")
def test_a_replaced_object_is_fetched_as_what_its_id_says(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "source", {"a.txt": "good\n"})
    evil = gits.git(source, "hash-object", "-w", "--stdin", stdin=b"evil\n")
    gits.git(source, "replace", gits.object_id("blob", b"good\n"), evil)
    assert gits.git(source, "show", "HEAD:a.txt") == "evil"

    repo, base = gits.runner(tmp_path, source)

    assert repositories.read_blob(repo, repositories.listing(repo, base)[b"a.txt"].id) == b"good\n"
    assert refs.listing(repo, "refs") == {}


@pytest.mark.hazard("H35")
def test_a_graft_cuts_nothing_off_what_is_fetched(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "source")
    first = gits.git(source, "rev-parse", "HEAD")
    second = gits.commit(source, {"a.txt": "two\n"})
    (source / ".git" / "info" / "grafts").write_text(f"{second}\n")

    repo, base = gits.runner(tmp_path, source)

    assert repositories.commit_info(repo, base).parents == (first,)
    assert repositories.contains(repo, first)


@pytest.mark.hazard("H35")
def test_replacements_inside_the_runner_repository_are_not_followed_either(tmp_path: Path) -> None:
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "source", {"a.txt": "good\n"}))
    evil = gits.git(repo.path, "hash-object", "-w", "--stdin", stdin=b"evil\n")
    blob = repositories.listing(repo, base)[b"a.txt"].id
    gits.git(repo.path, "replace", blob, evil)

    assert repositories.read_blob(repo, blob) == b"good\n"


@pytest.mark.hazard("H58")
@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".g\u200cit", "..", "."])
def test_a_history_with_a_path_no_checkout_should_write_is_refused(tmp_path: Path, name: str) -> None:
    source = gits.person(tmp_path / "source")
    blob = gits.git(source, "rev-parse", "HEAD:a.txt")
    entry = b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob)
    tree = gits.git(source, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=entry)
    gits.git(source, "update-ref", "HEAD", gits.git(source, "commit-tree", "-m", "x", tree))

    assert refused(tmp_path, source).code == "source_corrupt"


@pytest.mark.hazard("H58")
@pytest.mark.parametrize("line", ["url = --upload-pack=x", "url = ./x\n\tpath = -x", "url = ./x\n\tupdate = !x"])
def test_a_history_with_a_module_file_that_attacks_is_refused(tmp_path: Path, line: str) -> None:
    source = gits.person(tmp_path / "source", {".gitmodules": f'[submodule "s"]\n\tpath = s\n\t{line}\n'})

    assert refused(tmp_path, source).code == "source_corrupt"


@pytest.mark.parametrize(
    "author", ["t <t@e> 1 +051800", "t<t@e> 1 +0000", " <t@e> 01 +0000", "t <t@e> 9999999999999999999999 +0000"]
)
def test_a_blemish_of_an_old_commit_is_no_reason_to_refuse_a_persons_history(tmp_path: Path, author: str) -> None:
    source = gits.person(tmp_path / "source")
    tree = gits.git(source, "rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nauthor {author}\ncommitter t <t@e> 1 +0000\n\nold\n".encode()
    old = gits.git(source, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=text)
    gits.git(source, "update-ref", "HEAD", old)

    repo, base = gits.runner(tmp_path, source)

    assert base == old
    assert repositories.commit_info(repo, base).author == author


@pytest.mark.hazard("H66")
def test_links_among_the_objects_of_a_source_are_read_as_objects_or_not_at_all(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "source", {"a.txt": "good\n"})
    (tmp_path / "secret").write_text("secret\n")
    (source / ".git" / "objects" / "secret").symlink_to(tmp_path / "secret")
    blob = loose(source, gits.object_id("blob", b"good\n"))
    blob.rename(tmp_path / "moved")
    blob.symlink_to(tmp_path / "moved")

    repo, base = gits.runner(tmp_path, source)

    assert repositories.read_blob(repo, repositories.listing(repo, base)[b"a.txt"].id) == b"good\n"
    assert all(path.is_file() and not path.is_symlink() for path in (repo.objects / "pack").iterdir())
    assert not (repo.objects / "secret").exists()


@pytest.mark.hazard("H57")
def test_a_lying_commit_graph_of_a_source_hides_no_commit(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "source")
    gits.commit(source, {"a.txt": "two\n"})
    gits.commit(source, {"a.txt": "three\n"})
    gits.git(source, "commit-graph", "write", "--reachable")
    graph = source / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o644)
    content = bytearray(graph.read_bytes())
    content[-60:-20] = os.urandom(40)
    graph.write_bytes(content)

    repo, base = gits.runner(tmp_path, source)

    assert len(gits.git(repo.path, "rev-list", "--objects", base).split("\n")) == 9


@pytest.mark.hazard("H64")
def test_refs_of_a_source_do_not_decide_what_an_id_means_here(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "source")
    base = gits.git(source, "rev-parse", "HEAD")
    other = gits.commit(source, {"a.txt": "two\n"})
    gits.git(source, "update-ref", f"refs/heads/{base}", other)
    gits.git(source, "update-ref", f"refs/tags/{base}", other)

    repo, found = gits.runner(tmp_path, source, base)

    assert found == base
    assert repositories.read_blob(repo, repositories.listing(repo, base)[b"a.txt"].id) == b"one\n"


@pytest.mark.hazard("H70")
def test_a_blob_larger_than_asked_for_is_not_held_in_memory(tmp_path: Path) -> None:
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "source", {"big": b"\0" * (4 << 20)}))

    with pytest.raises(Refusal) as found:
        repositories.read_blob(repo, repositories.listing(repo, base)[b"big"].id, limit=1 << 20)

    assert found.value.code == "git_output_limit"


@pytest.mark.hazard("H39")
def test_no_merge_rule_of_the_tree_has_a_say_in_a_diff(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        ".gitattributes": "* merge=union whitespace=-all conflict-marker-size=1\n",
        "a": "1\n",
    }
    source = gits.person(tmp_path / "source", files)
    repo, base = gits.runner(tmp_path, source)
    newer = gits.commit(source, {"a": "2\n"})
    repositories.fetch(repo, sources.inspect_source(source), newer)

    assert b"-1\n+2\n" in exports.diff(repo, base, newer, limit=10_000)


def test_what_is_fetched_is_owner_only_and_read_only(tmp_path: Path) -> None:
    repo, _ = gits.runner(tmp_path, gits.person(tmp_path / "source"))

    packs = list((repo.objects / "pack").iterdir())
    assert {path.suffix for path in packs} == {".pack", ".idx"}
    assert {path.stat().st_mode & 0o777 for path in packs} == {0o400}
