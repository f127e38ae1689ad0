"""Remember what a `.git` says where it matters, and tell later what is different; read as data, never by git."""

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workspace.disk import descriptors
from workspace.disk.descriptors import FILE, Folders
from workspace.disk.names import join, raw
from workspace.inspection import lists, manifests
from workspace.inspection.walks import told

_FILES: Final = (
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "objects",
    "objects/info",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "objects/pack",
    "packed-refs",
    "shallow",
)
_FOLDERS: Final = ("hooks", "info", "modules", "refs", "worktrees")
_MOVED_BY_WORK: Final = ("info/refs",)  # written by git's own maintenance, and read by nobody here
_GIT: Final = ".git"
_LOCK: Final = ".lock"
_MOST: Final = 20_000
_LISTED: Final = 100
_CHUNK: Final = 1 << 20

Facts = dict[str, list[Any]]  # path -> kind, size, content


@dataclass(frozen=True, slots=True)
class Difference:
    """Say what moved: `commits` where it is HEAD or refs, as an agent's own commits do, `metadata` for all else."""

    metadata: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


def remember(tree: Path) -> str:
    """Return the state of the tree's `.git` as a JSON document."""
    return manifests.canonical({"version": 1, "entries": _facts(tree, None)})


def leave_empty(tree: Path) -> str:
    """Make the `.git` of a tree whose gitdir lies elsewhere: a folder that must stay empty, and the same one."""
    place = tree / ".git"
    place.mkdir(mode=0o700)
    found = place.lstat()
    return manifests.canonical({"version": 1, "empty": [found.st_dev, found.st_ino]})


def compare(tree: Path, baseline: str | None) -> Difference:
    """Compare the tree's `.git` with what was remembered; without a baseline there is none to compare."""
    if baseline is None:
        return Difference()
    with told():
        known = json.loads(baseline)
        if "empty" in known:
            return Difference(_filled(tree, known["empty"]))
        was: Facts = known["entries"]
        now = _facts(tree, was)
    if _GIT in now and _GIT not in was:
        # What lies beneath is gone from here with it: to name each part of that would say less.
        return Difference(metadata=(str(now[_GIT][2]),))
    different = [path for path in sorted(was.keys() | now.keys()) if was.get(path) != now.get(path)]
    commits = [path for path in different if _is_ref(path) and _ordinary(was.get(path)) and _ordinary(now.get(path))]
    metadata = [path for path in different if path not in set(commits)]
    return Difference(_told(metadata, was, now), _told(commits, was, now))


def _filled(tree: Path, identity: list[int]) -> tuple[str, ...]:
    """Say what became of a `.git` that had to stay empty; nothing in it is opened."""
    with descriptors.opened(tree) as top:
        try:
            opened = os.open(".git", descriptors.FOLDER, dir_fd=top)
        except OSError as error:
            return (f"changed .git: {error.strerror}",)
        try:
            found = os.fstat(opened)
            if [found.st_dev, found.st_ino] != identity:
                return ("changed .git: it is another folder",)
            names = sorted(name for name, _ in lists.scan(opened))
        finally:
            os.close(opened)
    return tuple(f"added {name}" for name in names[:_LISTED])


def _is_ref(path: str) -> bool:
    return path in {"HEAD", "packed-refs"} or path.startswith("refs/")


def _ordinary(facts: list[Any] | None) -> bool:
    return facts is None or facts[0] == "file"


def _told(paths: list[str], was: Facts, now: Facts) -> tuple[str, ...]:
    lines = [f"{_verb(path, was, now)} {path}" for path in paths[:_LISTED]]
    return tuple(lines + [f"and {len(paths) - _LISTED} more"] * (len(paths) > _LISTED))


def _verb(path: str, was: Facts, now: Facts) -> str:
    if path not in was:
        return "added"
    return "changed" if path in now else "removed"


def _facts(tree: Path, known: Facts | None) -> Facts:
    """Read everything that is covered; where `known` has another size already, the content need not be read."""
    with descriptors.opened(tree) as top:
        try:
            opened = os.open(_GIT, descriptors.FOLDER, dir_fd=top)
        except FileNotFoundError:
            return {_GIT: ["closed", 0, "removed all of .git"]}
        except OSError as error:
            other = error.errno in {errno.ENOTDIR, errno.ELOOP}
            why = "replaced .git by something that is no folder" if other else f"shut .git: {error.strerror}"
            return {_GIT: ["closed", 0, why]}
        try:
            with Folders(opened) as folders:
                return dict(_entries(folders, known))
        finally:
            os.close(opened)


def _entries(folders: Folders, known: Facts | None) -> Iterator[tuple[str, list[Any]]]:
    for path in _FILES:
        yield from _entry(folders, path, known)
    waiting, count = list(_FOLDERS), 0
    while waiting and count < _MOST:
        path = waiting.pop()
        for entry_path, facts in _entry(folders, path, known):
            count += 1
            if facts[0] != "folder":
                yield entry_path, facts
            else:
                waiting += [join(path, name) for name in _names(folders, path)]
    if waiting:
        yield "(more)", ["unseen", count, None]


def _names(folders: Folders, folder: str) -> list[str]:
    names = [name for name, _ in lists.scan(folders.open(folder))]
    return [name for name in names if not name.endswith(_LOCK) and join(folder, name) not in _MOVED_BY_WORK]


def _entry(folders: Folders, path: str, known: Facts | None) -> Iterator[tuple[str, list[Any]]]:
    folder, _, name = path.rpartition("/")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        place = folders.open(folder)
        found = os.lstat(raw(name), dir_fd=place)
        kind = lists.kind_of(found.st_mode)
        if kind == "link":
            yield path, [kind, 0, lists.link_target(place, name)]
        elif kind != "file":
            yield path, [kind, 0, None]
        elif known is not None and known.get(path, [kind, -1])[1] != found.st_size:
            yield path, [kind, found.st_size, None]
        else:
            yield path, [kind, found.st_size, _content(place, name)]


def _content(folder: int, name: str) -> str:
    hashed = hashlib.sha256()
    with os.fdopen(os.open(raw(name), FILE, dir_fd=folder), "rb") as file:
        while piece := file.read(_CHUNK):
            hashed.update(piece)
    return hashed.hexdigest()
