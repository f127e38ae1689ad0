"""Real trees: installed packages as a person's repository, and an agent whose every deed is known beforehand.

Run as a program this file is that agent: `python -I real_repositories.py SCRIPT SEEN`. It takes down every byte of the
work tree it was given, beneath SEEN, and then does what SCRIPT says its item does. Standard library only.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
WHO = {f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ALONE = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **WHO}

Tree = dict[str, tuple[str, str]]
"""Path to mode and object id, as `git ls-tree` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What one path holds afterwards, or where it came from; neither: it is gone. Bytes travel as latin-1."""

    path: str
    holds: str | None = None
    mode: str = FILE
    was: str | None = None

    def do(self, tree: Path) -> None:
        place = tree / self.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if self.was is not None:
            (tree / self.was).rename(place)
            return
        if self.holds is None or self.mode == LINK:
            place.unlink(missing_ok=True)
        if self.holds is not None:
            put(place, self.mode, self.holds.encode("latin-1"))

    def done(self, tree: Tree, algorithm: str) -> None:
        """Do the same to a listing."""
        if self.was is not None:
            tree[self.path] = tree.pop(self.was)
        elif self.holds is None:
            del tree[self.path]
        else:
            tree[self.path] = (self.mode, object_id(self.holds.encode("latin-1"), algorithm))


def written(path: str, content: bytes, mode: str = FILE) -> Deed:
    return Deed(path=path, holds=content.decode("latin-1"), mode=mode)


# ---------------------------------------------------------------- a person's repository


def git(folder: Path, *arguments: str) -> bytes:
    """Run git as a person would, but write nothing that was not asked for."""
    environment = {**ALONE, "HOME": str(folder.parent), "GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True).stdout


def a_real_repository(folder: Path, packages: Sequence[str], more: Iterable[Deed], *options: str) -> Path:
    """Make a repository of installed packages with a short history, and in it what this environment's have none of."""
    git(folder.parent, "init", "--quiet", "--initial-branch=main", *options, str(folder))
    for package in packages:
        shutil.copytree(place_of(package), folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    committed(folder, "Bring in packages")
    git(folder, "tag", "--annotate", "--message=as installed", "v1")
    git(folder, "branch", "another")
    for deed in more:
        deed.do(folder)
    committed(folder, "Bring in what real repositories have")
    return folder


def committed(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", f"--message={message}")


def place_of(package: str) -> Path:
    """Find an installed package."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def put(place: Path, mode: str, content: bytes) -> None:
    if mode == LINK:
        os.symlink(content, os.fsencode(place))
        return
    place.write_bytes(content)
    place.chmod(0o755 if mode == PROGRAM else 0o644)


# ---------------------------------------------------------------- what is there


def held(repository: Path, commit: str) -> Tree:
    """List everything a commit holds, as git tells it."""
    lines = git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]
    entries = (line.split(b"\t", 1) for line in lines)
    return {os.fsdecode(path): (told[:6].decode(), told.split()[2].decode()) for told, path in entries}


def found(folder: Path, algorithm: str) -> Tree:
    """List everything a work tree holds, read byte by byte, without git."""
    listed = {}
    for entry in beneath(folder, skipped=".git"):
        if entry.is_symlink():
            listed[named(entry, folder)] = (LINK, object_id(os.fsencode(os.readlink(entry.path)), algorithm))
        elif entry.is_file():
            mode = PROGRAM if entry.stat().st_mode & 0o100 else FILE
            listed[named(entry, folder)] = (mode, object_id(Path(entry.path).read_bytes(), algorithm))
    return listed


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Take down every entry, the gitdir's included: mode, when it was changed, what it holds."""
    taken = {}
    for entry in beneath(folder):
        seen = entry.stat(follow_symlinks=False)
        content = Path(entry.path).read_bytes() if entry.is_file(follow_symlinks=False) else b""
        content = os.fsencode(os.readlink(entry.path)) if entry.is_symlink() else content
        taken[named(entry, folder)] = (seen.st_mode, seen.st_mtime_ns, hashlib.sha256(content).digest())
    return taken


def beneath(folder: Path | str, skipped: str = "") -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == skipped:
                continue
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from beneath(entry.path)


def named(entry: os.DirEntry[str], folder: Path) -> str:
    return os.path.relpath(entry.path, folder)


def object_id(content: bytes, algorithm: str) -> str:
    """Compute a blob's id as git does."""
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


# ---------------------------------------------------------------- the agent


def scripted(folder: Path, deeds: Mapping[str, Sequence[Deed]], algorithm: str) -> tuple[list[str], Path]:
    """Write an agent's script; gives its command and where it puts what it saw."""
    script, seen = folder / "script.json", folder / "seen"
    seen.mkdir()
    told = {item: [asdict(deed) for deed in each] for item, each in deeds.items()}
    script.write_text(json.dumps({"algorithm": algorithm, "deeds": told}), encoding="ascii")
    return [sys.executable, "-I", __file__, str(script), str(seen)], seen


def seen_by(item: str, seen: Path) -> Tree:
    """Read what an item's agent found before it did anything."""
    listed = json.loads((seen / item).read_text(encoding="ascii"))
    return {path: (mode, identity) for path, (mode, identity) in listed.items()}


def act(script: Path, seen: Path, item: str, tree: Path) -> None:
    told = json.loads(script.read_text(encoding="ascii"))
    (seen / item).write_text(json.dumps(found(tree, told["algorithm"])), encoding="ascii")
    for deed in told["deeds"][item]:
        Deed(**deed).do(tree)


if __name__ == "__main__":
    act(Path(sys.argv[1]), Path(sys.argv[2]), os.environ["TASKS_ITEM"], Path())
