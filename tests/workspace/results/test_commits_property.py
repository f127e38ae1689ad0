"""Whatever edits a tree has seen, the committed tree differs from the base in exactly those."""

from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import gits
from tests.gits import Content
from workspace.repository import repositories
from workspace.repository.repositories import RunnerRepository
from workspace.results import commits
from workspace.results.commits import Identity

NAMES = st.sampled_from(
    [b"a", b"b", b"d", b"-x", b" y", b"n\nl", b"\xff", b"\xc3\xa9", b"e\xcc\x81", b"A", b'"', b"*", b":(top)"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
MODES = st.sampled_from(["100644", "100755", "120000"])
CONTENTS = st.sampled_from([b"", b"x", b"same", b"l\r\n", b"\0\1", b"long " * 99]) | st.binary(max_size=30)
TREES = st.dictionaries(PATHS, st.tuples(MODES, CONTENTS), max_size=8)


def possible(tree: dict[bytes, Content]) -> dict[bytes, Content]:
    """Leave out what stands beneath a file, and links to nowhere at all."""
    return {path: _content(content) for path, content in tree.items() if not any(up in tree for up in above(path))}


def above(path: bytes) -> Iterable[bytes]:
    parts = path.split(b"/")
    return (b"/".join(parts[:depth]) for depth in range(1, len(parts)))


def _content(content: Content) -> Content:
    mode, held = content
    return (mode, held.replace(b"\0", b"0") or b"t") if mode == "120000" else content


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RunnerRepository:
    folder = tmp_path_factory.mktemp("property")
    return gits.runner(folder, gits.person(folder / "source"))[0]


def based(repo: RunnerRepository, tree: dict[bytes, Content]) -> str:
    """Commit a whole tree by other means than the product's."""
    gits.write_pack(repo.path / "property-pack", {("blob", content) for _, content in tree.values()})
    gits.git(repo.path, "index-pack", "--stdin", stdin=(repo.path / "property-pack").read_bytes())
    lines = b"".join(
        b"%s %s\t%s\0" % (mode.encode(), gits.object_id("blob", content).encode(), path)
        for path, (mode, content) in tree.items()
    )
    (repo.path / "property-index").unlink(missing_ok=True)
    index = {"GIT_INDEX_FILE": str(repo.path / "property-index")}
    gits.git(repo.path, "update-index", "-z", "--index-info", stdin=lines, env=index)
    return gits.git(repo.path, "commit-tree", "-m", "base", gits.git(repo.path, "write-tree", env=index))


@pytest.mark.case("J14")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TREES.map(possible), after=TREES.map(possible))
def test_the_committed_tree_is_the_base_with_exactly_the_judged_edits(
    repo: RunnerRepository, tmp_path: Path, before: dict[bytes, Content], after: dict[bytes, Content]
) -> None:
    base = based(repo, before)
    gone: dict[bytes, Content | None] = dict.fromkeys(before)
    judgement = gits.judge(repo, base, gone | after, tmp_path / uuid4().hex)

    made = commits.commit(
        repo, judgement, parent=base, message="x\n", author=Identity(), date=gits.WHEN, attempt=uuid4()
    )

    found = repositories.listing(repo, made.id if made else base)
    assert (made is None) == (before == after)
    assert {path: (entry.mode, entry.id) for path, entry in found.items()} == {
        path: (mode, gits.object_id("blob", content)) for path, (mode, content) in after.items()
    }
