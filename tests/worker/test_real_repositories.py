"""Whole runs on real repositories, by the commands a person types: every byte that moved is one the agent moved."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Done, Terminal
from tests.worker.real_repositories import (
    LINK,
    PROGRAM,
    SUBMODULE,
    Deed,
    Tree,
    a_real_repository,
    everything,
    found,
    git,
    held,
    place_of,
    scripted,
    seen_by,
    written,
)

LARGE = ("mypy", "mypyc", "pip", "pygments")
SMALL = ("alembic",)
COMPOSED, DECOMPOSED = "docs/r\u00e9sum\u00e9.txt", "docs/re\u0301sume\u0301.txt"
BLANKS, OVERVIEW = "docs/with  two blanks .txt", "docs/\u00dcbersicht der \u00c4nderungen.md"
ODD = (
    written(OVERVIEW, "\u00dcbersicht\n".encode()),
    written(DECOMPOSED, b"decomposed\n"),
    written("docs/\u8aac\u660e/\u30d5\u30a1\u30a4\u30eb.txt", b"\0\xff binary\n"),
    written(BLANKS, b"blanks\n"),
    written(" leading", b""),
    written("-dash", b"no newline"),
    written('quote"back\\slash\ttab', b"odd\n"),
    written("latin-\udce9.txt", b"not UTF-8\n"),
    written("tools/run.sh", b"#!/bin/sh\nexit 0\n", PROGRAM),
    written("windows/crlf.bat", b"echo off\r\necho on\r\n"),
    written("windows/mixed.txt", b"one\r\ntwo\nthree\r"),
    written("current", b"mypy", LINK),
    written("docs/a link", b"../pip/__init__.py", LINK),
    written("dangling", b"nowhere/at all", LINK),
    written("absolute", b"/etc/hostname", LINK),
    written(".gitattributes", b"* text=auto\n"),
)
CONVERTED = (
    written(".gitattributes", b"*.py text eol=crlf\n*.mako ident\nwide.txt working-tree-encoding=UTF-16LE\n"),
    written("id.mako", b"$Id$\n"),
    written("wide.txt", "wide\n".encode("utf-16-le")),
)
HOOKS = ("post-index-change", "reference-transaction", "pre-auto-gc")


@dataclass(frozen=True, slots=True)
class Story:
    """A repository of a person, what an agent does in it item by item, and the terminal it all is typed at."""

    folder: Path
    source: Path
    algorithm: str
    deeds: Mapping[str, Sequence[Deed]]
    agent: str
    seen: Path
    tasks: Terminal

    def run(self, items: Sequence[dict[str, Any]], repository: str | Path) -> Done:
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps({"title": "Three items", "base": "main", "target": "main", "items": items}))
        return self.tasks.process("run", plan, "--repo", repository, "--agent", self.agent, "--json")

    def expected(self, base: Tree) -> list[Tree]:
        """Work out what each commit must hold, whole."""
        trees = [base]
        for deeds in self.deeds.values():
            trees.append(dict(trees[-1]))
            for deed in deeds:
                deed.done(trees[-1], self.algorithm)
        return trees


def a_story(folder: Path, database_url: str, source: Path, deeds: Mapping[str, Sequence[Deed]]) -> Story:
    algorithm = git(source, "rev-parse", "--show-object-format").decode().strip()
    agent, seen = scripted(folder, deeds, algorithm)
    terminal = Terminal(database_url=database_url, root=folder / "root")
    return Story(folder, source, algorithm, deeds, shlex.join(agent), seen, terminal)


def item(name: str, *files: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "title": f"Do {name}", "files": list(files)}


def with_a_submodule(source: Path) -> None:
    """Declare one that nobody has fetched, as most clones have."""
    (source / ".gitmodules").write_text('[submodule "sub"]\n\tpath = vendor/sub\n\turl = https://example.org/sub\n')
    git(source, "update-index", "--add", "--cacheinfo", f"{SUBMODULE},{'1' * 40},vendor/sub")
    git(source, "add", ".gitmodules")
    git(source, "commit", "--quiet", "--message=Name a submodule")
    (source / "vendor" / "sub").mkdir(parents=True)


def with_hooks(source: Path, proof: Path) -> None:
    """Write hooks that tell when anything but a reader is at work."""
    for name in HOOKS:
        hook = source / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >>{shlex.quote(str(proof))}\n")
        hook.chmod(0o755)


def files(tree: Tree) -> Tree:
    """Leave out what a work tree has no file for."""
    return {path: entry for path, entry in tree.items() if entry[0] != SUBMODULE}


def trees_of(done: Done, parent: str) -> tuple[list[Tree], list[str]]:
    """Read the whole tree of a task's base and of every commit it made, each on top of the one before."""
    runner = Path(done.json["repository"]["runner_path"])
    commits = [each["commit"] for each in done.json["attempts"]]
    parents = [git(runner, "rev-parse", f"{commit}^@").decode().split() for commit in commits]
    assert parents == [[each] for each in (parent, *commits[:-1])]
    assert done.json["head"] == commits[-1]
    return [held(runner, commit) for commit in (parent, *commits)], commits


@pytest.mark.case("K01", "W22", "K09")
def test_a_plan_on_thousands_of_real_files_moves_exactly_the_bytes_its_agent_moved(
    database_url: str, tmp_path: Path
) -> None:
    source = a_real_repository(tmp_path / "a person's pr\u00f6ject", LARGE, ODD)
    with_a_submodule(source)
    with_hooks(source, tmp_path / "proof")
    build = (place_of("mypy") / "build.py").read_bytes()
    deeds = {
        "P1": (
            written("mypy/build.py", build + b"# touched\n"),
            written("windows/crlf.bat", b"echo off\r\necho on\r\necho done\r\n"),
            written("windows/mixed.txt", b"one\r\ntwo\nthree\rfour"),
            written(OVERVIEW, "\u00dcbersicht\r\n\u00c4nderung\n".encode()),
        ),
        "P2": (
            written(COMPOSED, b"composed, beside the decomposed one's folder\n"),
            written("docs/new  folder/\u2603 snow.txt", b"\xef\xbb\xbfwith a mark\r\n"),
            written("tools/new.sh", b"#!/bin/sh\n", PROGRAM),
            written("pip/__init__.py", b""),
            written("tools/run.sh", b"#!/bin/sh\nexit 0\n"),
            Deed(path=DECOMPOSED),
        ),
        "P3": (
            Deed(path="docs/moved/two blanks.txt", was=BLANKS),
            Deed(path="pygments/lexers/renamed.py", was="pygments/lexers/python.py"),
            Deed(path="mypy/typeshed/LICENSE"),
            Deed(path="dangling"),
        ),
    }
    items = (
        item("P1", {"edit": "mypy/build.py"}, {"edit": "windows/"}, {"edit": OVERVIEW}),
        item(
            "P2",
            {"add": COMPOSED},
            {"add": "docs/new  folder/**"},
            {"add": "tools/new.sh"},
            {"edit": "tools/run.sh"},
            {"edit": "pip/__init__.py"},
            {"delete": DECOMPOSED},
        ),
        item(
            "P3",
            {"rename": "docs/moved/two blanks.txt", "renamed_from": BLANKS},
            {"rename": "pygments/lexers/renamed.py", "renamed_from": "pygments/lexers/python.py"},
            {"delete": "mypy/typeshed/LICENSE"},
            {"delete": "dangling", "link": True},
        ),
    )
    story = a_story(tmp_path, database_url, source, deeds)
    base = git(source, "rev-parse", "main").decode().strip()
    before = everything(source)

    done = story.run(items, source)

    assert (done.code, done.err, done.json["state"]) == (0, "", "in_review")
    assert everything(source) == before
    trees, commits = trees_of(done, base)
    assert trees == story.expected(held(source, base))
    assert [seen_by(name, story.seen) for name in deeds] == [files(tree) for tree in trees[:-1]]
    assert len(trees[0]) > 2_000
    assert not (tmp_path / "proof").exists()
    merged(story, commits[-1])


def merged(story: Story, head: str) -> None:
    """Approve and merge into the work tree the person has open: it follows, and nothing else does."""
    refs = git(story.source, "for-each-ref").decode().splitlines()
    config, head_file = ((story.source / ".git" / name).read_bytes() for name in ("config", "HEAD"))

    approved = story.tasks.process("gate", "approve", 1, "--as", "rev", "--json")
    done = story.tasks.process("merge", 1, "--json")

    assert (approved.code, approved.err, done.code, done.err) == (0, "", 0, "")
    assert done.json["state"] == "merged"
    assert found(story.source, story.algorithm) == files(held(story.source, head))
    assert git(story.source, "status", "--porcelain") == b""
    after = git(story.source, "for-each-ref").decode().splitlines()
    assert after == [f"{head} commit\trefs/heads/main" if "refs/heads/main" in line else line for line in refs]
    assert (story.source / ".git" / "config").read_bytes() == config
    assert (story.source / ".git" / "HEAD").read_bytes() == head_file


@pytest.mark.case("K01", "W22", "K09")
def test_attributes_that_convert_change_no_byte_on_the_way_to_a_bare_target(database_url: str, tmp_path: Path) -> None:
    source = a_real_repository(tmp_path / "project", SMALL, CONVERTED, "--object-format=sha256")
    target = tmp_path / "target.git"
    git(tmp_path, "clone", "--quiet", "--bare", "--no-local", str(source), str(target))
    readme = "alembic/templates/generic/README"
    deeds = {
        "P1": (written("alembic/op.py", b"unix\nwindows\r\nold\r"), written("id.mako", b"$Id: mine $\r\n")),
        "P2": (written("wide.txt", "wide \u00e4\r\n".encode()), written("alembic/new.py", b"a = 1\r\n")),
        "P3": (Deed(path="alembic/renamed.py", was="alembic/command.py"), Deed(path=readme)),
    }
    items = (
        item("P1", {"edit": "alembic/op.py"}, {"edit": "id.mako"}),
        item("P2", {"edit": "wide.txt"}, {"add": "alembic/new.py"}),
        item("P3", {"rename": "alembic/renamed.py", "renamed_from": "alembic/command.py"}, {"delete": readme}),
    )
    story = a_story(tmp_path, database_url, source, deeds)
    base = git(source, "rev-parse", "main").decode().strip()
    before, theirs = everything(source), everything(target)

    refused = story.run(items, source)
    added = story.tasks.process("repo", "add", source, "--name", "small", "--target", target, "--raw-attributes")
    done = story.run(items, "small")

    assert (refused.code, refused.error["code"], added.code) == (3, "attributes_convert", 0)
    assert (done.code, done.err, done.json["state"]) == (0, "", "in_review")
    assert (everything(source), everything(target)) == (before, theirs)
    trees, commits = trees_of(done, base)
    assert trees == story.expected(held(source, base))
    assert [seen_by(name, story.seen) for name in deeds] == [files(tree) for tree in trees[:-1]]
    assert story.tasks.process("gate", "approve", 1, "--as", "rev").code == 0
    assert story.tasks.process("merge", 1, "--json").json["state"] == "merged"
    assert everything(source) == before
    assert git(target, "rev-parse", "main").decode().strip() == commits[-1]
    assert git(target, "fsck", "--strict", "--no-dangling") == b""
