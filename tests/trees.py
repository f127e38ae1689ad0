"""Make work trees as the product makes them, for tests to be hostile in."""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests import gits
from workspace.inspection import gitdirs, links
from workspace.inspection.inspections import Inspection, Tree, inspect
from workspace.places import materialise
from workspace.repository.repositories import RunnerRepository

NOBODY = 65534
HERE = Path(__file__).parents[1]
FILES: Mapping[str, str | bytes] = {"a.txt": "one\n", "src/x.py": "print(1)\n", "src/deep/y.py": "print(2)\n"}
IGNORES = "build/\n*.o\nnode_modules/\n__pycache__/\n.env\n"


@dataclass(frozen=True, slots=True)
class Work:
    """Hold a tree made from a commit of a runner repository."""

    repo: RunnerRepository
    base: str
    tree: Path
    baseline: str | None
    spools: Path

    def __truediv__(self, name: str) -> Path:
        return self.tree / name

    def inspect(self, **more: Any) -> Inspection:
        """Inspect it as after a run."""
        spool = self.spools / uuid4().hex
        return inspect(Tree(self.tree, self.baseline), repo=self.repo, base=self.base, spool=spool, **more)

    def changes(self, **more: Any) -> dict[str, dict[str, Any]]:
        """Inspect it and return the changes by path."""
        found = self.inspect(**more).manifest["changes"]
        by_path = {change["path"]: change for change in found}
        assert len(by_path) == len(found)
        return by_path

    def kinds(self, **more: Any) -> dict[str, str]:
        """Inspect it and return the kind of each change by path."""
        return {path: change["kind"] for path, change in self.changes(**more).items()}

    def links(self, *declared: str) -> links.LinkState:
        """Look where declared links lead."""
        return links.before(self.tree, declared)


def work(
    tmp_path: Path, files: Mapping[str, str | bytes] = FILES, *, gitdir: bool = True, options: Sequence[str] = ()
) -> Work:
    """Make a person's repository of these files, a runner repository, and a work tree."""
    made = _made(tmp_path.parent, tuple(files.items()), tuple(options))
    for name in ("person", "root"):
        shutil.copytree(made.spools / name, tmp_path / name, symlinks=True)
    repo = RunnerRepository(tmp_path / made.repo.path.relative_to(made.spools), made.repo.object_format)
    return _grown(tmp_path, repo, made.base, gitdir=gitdir)


def work_on(tmp_path: Path, person: Path, *, gitdir: bool = True) -> Work:
    """Make a work tree of a person's newest commit."""
    repo, base = gits.runner(tmp_path, person)
    return _grown(tmp_path, repo, base, gitdir=gitdir)


@functools.cache
def _made(run: Path, files: tuple[tuple[str, str | bytes], ...], options: tuple[str, ...]) -> Work:
    """Make a person's repository and a runner of it once, to be copied."""
    place = Path(tempfile.mkdtemp(prefix="made-", dir=run))
    repo, base = gits.runner(place, gits.person(place / "person", dict(files), *options))
    return Work(repo, base, place / "tree", None, place)


def _grown(tmp_path: Path, repo: RunnerRepository, base: str, *, gitdir: bool) -> Work:
    tree = tmp_path / "root" / "workspaces" / "tree"
    materialise.materialise(repo, base, tree)
    baseline = gitdirs.write_gitdir(repo, base, tree, branch="weighlock/1") if gitdir else None
    (tmp_path / "spools").mkdir()
    return Work(repo, base, tree, baseline, tmp_path / "spools")


def committed(person: Path, message: str = "more") -> str:
    """Commit whatever a person's work tree holds."""
    gits.git(person, "add", "-A", "-f")
    gits.git(person, "commit", "-q", "-m", message)
    return gits.git(person, "rev-parse", "HEAD")


def link(target: str | bytes | Path, place: Path) -> None:
    """Make a link, with missing folders above it, replacing what is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(os.fsdecode(target))


def repository(place: Path) -> Path:
    """Make a repository inside a tree, as an agent would."""
    place.mkdir(parents=True, exist_ok=True)
    gits.git(place, "init", "-q", "-b", "main")
    (place / "inner.txt").write_text("inner\n")
    return place


def without_privileges(script: str, folder: Path) -> str:
    """Run Python as somebody whom modes bind, also where the tests run as root; FOLDER names a folder of theirs."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    environment = {**os.environ, "HOME": str(folder), "FOLDER": str(folder)}
    ended = subprocess.run(
        [*drop, sys.executable, "-c", script], cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def forge(git_dir: Path, identity: str, content: bytes) -> None:
    """Put a loose object in place that holds other bytes than its id says."""
    place = git_dir / "objects" / identity[:2] / identity[2:]
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(zlib.compress(b"blob %d\0" % len(content) + content))


def loosen(git_dir: Path) -> None:
    """Turn the packs of a repository into loose objects."""
    for pack in (git_dir / "objects" / "pack").glob("*.pack"):
        content = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        gits.git(git_dir, "unpack-objects", "-q", stdin=content)
