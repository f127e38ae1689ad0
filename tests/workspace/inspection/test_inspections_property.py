"""For any edit of a tree: the base and the manifest give exactly the tree, as git itself sees a copy of it."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import gits, trees
from tests.trees import Work
from workspace.disk.names import raw
from workspace.inspection import gitdirs
from workspace.places import materialise
from workspace.repository.repositories import RunnerRepository, listing
from workspace.results import commits

RULES = "*.o\nbuild/\n/top\nlogs/*\n!logs/keep\n"
NAMES = ["a.txt", "b", "src", "deep", "x.o", "build", "top", "logs", "keep", "B", ".gitignore", ".gitattributes"]
ODD = [
    os.fsdecode(name) for name in (b"bad\xff", b"new\nline", b" lead", b"-rf", b"*", b":(top)x", b"e\xcc\x81", b"a\\b")
]
BASE = {
    ".gitignore": RULES,
    ".gitattributes": "* text=auto\n*.txt ident eol=crlf\n",
    "a.txt": "$Id$\r\nold\n",
    "b": "same content\n",
    "src/a.txt": "same content\n",
    "src/deep/b": "",
    "logs/keep": "kept",
}

LONGEST_RULE = 2048  # bytes in a line of attributes that git still takes

Listing = dict[bytes, tuple[str, str]]
Edit = tuple[str, str, str]

paths = st.lists(st.sampled_from(NAMES + ODD), min_size=1, max_size=3).map("/".join)
contents = st.sampled_from(["", "old", "same content\n", "$Id: x $\r\n", "x" * 9000, "\0\xff", "kept"])
targets = st.sampled_from(["a.txt", "../b", "nowhere", "src/deep", "/etc/passwd", "..", "b/../../x"])
edits = st.one_of(
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("link"), paths, targets),
    st.tuples(st.just("delete"), paths, st.just("")),
    st.tuples(st.just("program"), paths, st.just("")),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("folder"), paths, st.just("")),
)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunnerRepository, str, Path]:
    folder = tmp_path_factory.mktemp("property")
    person = folder / "person"
    gits.git(folder, "init", "-q", "-b", "main", "person")
    (person / ".git" / "info").mkdir(exist_ok=True)
    (person / ".git" / "info" / "attributes").write_text("* -text -ident -eol\n")
    for name, content in BASE.items():
        (person / name).parent.mkdir(parents=True, exist_ok=True)
        (person / name).write_bytes(content.encode())
    trees.link("a.txt", person / "src" / "link")
    (person / "src" / "deep" / "b").chmod(0o755)
    trees.committed(person)
    repo, base = gits.runner(folder, person)
    (folder / "spools").mkdir()
    return repo, base, folder


@pytest.mark.case("J14")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(edits, max_size=8))
def test_the_base_and_the_manifest_give_exactly_the_tree(
    origin: tuple[RunnerRepository, str, Path], made: list[Edit]
) -> None:
    work = fresh(*origin)
    for kind, path, more in made:
        with contextlib.suppress(OSError, shutil.Error):  # many an edit of a random tree has no sense
            EDITS[kind](work / path, more, work.tree)

    inspection = work.inspect()

    seen, ignored = as_git_sees_it(work, origin[2])
    expected = {path: entry for path, entry in seen.items() if path not in ignored}
    assert applied(inspection.manifest, base_of(work)) == expected
    assert told_as_ignored(inspection.manifest, seen) == ignored
    if storable(inspection.manifest):
        committed = commits.commit(
            work.repo,
            inspection,
            parent=work.base,
            message="x",
            author=commits.Identity("A", "a@e"),
            date=gits.WHEN,
            attempt=uuid4(),
        )
        assert committed
        assert listed(work.repo, committed.id) == expected
    shutil.rmtree(work.tree)


def fresh(repo: RunnerRepository, base: str, folder: Path) -> Work:
    tree = folder / uuid4().hex
    materialise.materialise(repo, base, tree)
    baseline = gitdirs.write_gitdir(repo, base, tree, branch="weighlock/1")
    return Work(repo, base, tree, baseline, folder / "spools")


def write(place: Path, content: str, _: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(content.encode())


def make_link(place: Path, target: str, _: Path) -> None:
    trees.link(target, place)


def delete(place: Path, _: str, __: Path) -> None:
    shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()


def program(place: Path, _: str, __: Path) -> None:
    if not place.is_symlink():
        place.chmod(0o755)


def move(place: Path, other: str, tree: Path) -> None:
    (tree / other).parent.mkdir(parents=True, exist_ok=True)
    place.rename(tree / other)


def make_folder(place: Path, _: str, __: Path) -> None:
    place.mkdir(parents=True)


EDITS: dict[str, Callable[[Path, str, Path], None]] = {
    "write": write,
    "link": make_link,
    "delete": delete,
    "program": program,
    "move": move,
    "folder": make_folder,
}


def listed(repo: RunnerRepository, commit: str) -> Listing:
    return {path: (entry.mode, entry.id) for path, entry in listing(repo, commit).items()}


def base_of(work: Work) -> Listing:
    return listed(work.repo, work.base)


def applied(manifest: dict, base: Listing) -> Listing:
    result = dict(base)
    for change in manifest["changes"]:
        if change["ignored"]:
            continue
        for gone in (change["path"] if change["new"] is None else None, change["old_path"]):
            if gone is not None:
                del result[raw(gone)]
    for change in manifest["changes"]:
        if change["new"] and not change["ignored"]:
            result[raw(change["path"])] = (change["new"]["mode"], change["new"]["id"])
    return result


def storable(manifest: dict) -> bool:
    """Tell whether there is something to commit, and git's own check lets it in: attributes must be plain files."""
    counted = [change for change in manifest["changes"] if not change["ignored"]]
    return bool(counted) and not any(map(odd_attributes, counted))


def odd_attributes(change: dict) -> bool:
    named = change["path"].rpartition("/")[2] == ".gitattributes"
    new = change["new"] or {"type": "file", "size": 0}
    return ".gitattributes/" in change["path"] or (named and (new["type"] != "file" or new["size"] > LONGEST_RULE))


def told_as_ignored(manifest: dict, seen: Listing) -> set[bytes]:
    lines = [raw(line["path"]) for line in manifest["ignored"]]
    return {path for path in seen for line in lines if path == line or (line.endswith(b"/") and path.startswith(line))}


def as_git_sees_it(work: Work, folder: Path) -> tuple[Listing, set[bytes]]:
    """Let a git of the test's own add a copy of the tree; return its index, and what the base's rules ignore of it."""
    copy = folder / uuid4().hex
    shutil.copytree(work.tree, copy, symlinks=True, ignore=lambda at, _: {".git"} if Path(at) == work.tree else set())
    gits.git(copy, "init", "-q")
    (copy / ".git" / "info").mkdir(exist_ok=True)
    (copy / ".git" / "info" / "attributes").write_text("* -text -eol -ident -filter -working-tree-encoding\n")
    gits.git(copy, "add", "-A", "-f")
    seen = {}
    for line in gits.git(copy, "ls-files", "-s", "-z").split("\0"):
        if line:
            about, path = line.split("\t", 1)
            seen[os.fsencode(path)] = (about.split()[0], about.split()[1])
    (copy / ".git" / "index").unlink()
    (copy / ".git" / "rules").write_text(RULES)
    lines = [f"{mode} {identity}\t".encode() + path + b"\0" for path, (mode, identity) in base_of(work).items()]
    gits.git(copy, "update-index", "-z", "--index-info", stdin=b"".join(lines))
    found = gits.git(copy, "ls-files", "-t", "-o", "-i", "-z", "-X", ".git/rules").split("\0")
    ignored = {os.fsencode(path.removeprefix("? ")) for path in found if path}
    shutil.rmtree(copy)
    return seen, ignored & seen.keys()
