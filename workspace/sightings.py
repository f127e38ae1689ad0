"""Sort what is seen in a tree: as the base has it, changed, new, ignored by the base's rules, or odd."""

import stat
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from workspace import trees
from workspace.names import LONGEST, join, leaves_tree, raw, spells_git
from workspace.trees import Base, Side
from workspace.walks import InspectionFailed

_SET_ID: Final = stat.S_ISUID | stat.S_ISGID
_OWNER_LOOKS: Final = {"folder": stat.S_IRWXU, "file": stat.S_IRUSR}


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold one entry as it was listed."""

    folder: str
    name: str
    kind: str
    mode: int
    size: int
    signature: str
    target: str | None

    @property
    def path(self) -> str:
        """Return where it is in the tree."""
        return join(self.folder, self.name)


@dataclass(slots=True)
class Round:
    """Collect what one round of looking leaves to do."""

    folders: list[str] = field(default_factory=list)
    reads: dict[tuple[str, str], list[tuple[Seen, str]]] = field(default_factory=lambda: defaultdict(list))
    untracked: list[tuple[Seen, str]] = field(default_factory=list)


@dataclass(slots=True)
class Sightings:
    """Collect what is seen. `now` holds every path that is not as the base has it, `kept` every one that is there."""

    base: Base
    has_gitdir: bool
    now: dict[str, Side] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    ignored: list[dict[str, Any]] = field(default_factory=list)
    ignored_odd: dict[str, Side] = field(default_factory=dict)
    gitlink_content: list[str] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    modes: dict[str, str] = field(default_factory=dict)
    added: int = 0

    def folder(self, found: dict[str, Any], todo: Round) -> None:
        """Sort the entries of one listed folder."""
        folder = found["folder"]
        if found["state"] != "open":
            self._closed(folder, found["state"])
            return
        if self.base.is_gitlink(folder):
            self.gitlink_content += [join(folder, str(entry[0])) for entry in found["entries"]]
            return
        repository = self._is_repository(folder, found["repository"])
        if repository and folder not in self.base.folders:
            return
        for entry in found["entries"]:
            if not (repository and entry[0] == ".git"):
                self._entry(Seen(folder, *entry), found["signature"], todo)

    def new(self, seen: Seen, state: str, todo: Round) -> None:
        """Take an entry the base has not, and does not ignore."""
        self._note(seen)
        if seen.kind == "folder":
            todo.folders.append(seen.path)
        else:
            self.added += 1
            self._content(seen, state, "", todo)

    def left_out(self, seen: Seen) -> None:
        """Take an entry, no folder, that the base ignores."""
        self.ignored.append({"path": seen.path, "entries": 1, "bytes": seen.size if seen.kind == "file" else 0})
        if seen.kind == "special" or (seen.target is not None and leaves_tree(seen.folder, seen.target)):
            self.ignored_odd[seen.path] = _unread(seen.kind, seen.mode, seen.size, seen.target)

    def surveyed(self, found: dict[str, Any]) -> None:
        """Take the sum of an ignored folder."""
        folder = found["folder"]
        self.ignored.append({"path": f"{folder}/", "entries": found["entries"], "bytes": found["bytes"]})
        if found["links_out"]:
            self.notes["ignored links that leave the tree"].append(f"{folder}/ ({found['links_out']})")
        for path, kind, mode, size, target in found["odd"]:
            self.ignored_odd[path] = _unread(kind, mode, size, target)

    def read(self, found: dict[str, Any]) -> None:
        """Take what reading told of entries that were not as expected."""
        for path, identity, size, target in found["changed"]:
            mode = trees.LINK if target is not None else self.modes[path]
            self.now[path] = Side("file" if target is None else "symlink", mode, identity, size, target)
        for path in found["unreadable"]:
            self.now[path] = trees.UNREADABLE
        self.notes["extended attributes"] += found["attributed"]

    def _closed(self, folder: str, state: str) -> None:
        if not folder:
            raise InspectionFailed("the tree itself cannot be opened", reason=state)
        self.closed.add(folder)
        self.now[folder] = trees.UNREADABLE if state == "unreadable" else trees.DIRECTORY

    def _is_repository(self, folder: str, kind: str) -> bool:
        if not folder or not kind or (kind == "bare" and self.base.has_bare_repository(folder)):
            return False
        self.now[folder] = trees.REPOSITORY
        return True

    def _entry(self, seen: Seen, state: str, todo: Round) -> None:
        path = seen.path
        if path == ".git" and self.has_gitdir:
            return
        if spells_git(seen.name):
            self._git_named(seen, state, todo)
        elif seen.kind == "folder" and (path in self.base.folders or self.base.is_gitlink(path)):
            self._note(seen)
            self.kept.add(path)
            todo.folders.append(path)
        elif seen.kind != "folder" and path in self.base.entries:
            self._tracked(seen, state, todo)
        else:
            _check_length(path)
            todo.untracked.append((seen, state))

    def _tracked(self, seen: Seen, state: str, todo: Round) -> None:
        path = seen.path
        self._note(seen)
        self.kept.add(path)
        old = self.base.side(path)
        if (old.type, seen.kind) not in {("file", "file"), ("symlink", "link")}:
            self._content(seen, state, "", todo)
            return
        if seen.kind == "file" and trees.file_mode(seen.mode) != old.mode:
            self.now[path] = Side("file", trees.file_mode(seen.mode), old.id, seen.size)
        self._content(seen, state, str(old.id), todo)

    def _git_named(self, seen: Seen, state: str, todo: Round) -> None:
        self.added += 1
        if seen.kind == "folder":
            self.now[seen.path] = trees.DIRECTORY
        else:
            self._content(seen, state, "", todo)

    def _content(self, seen: Seen, state: str, expected: str, todo: Round) -> None:
        if seen.kind == "special":
            self.now[seen.path] = trees.SPECIAL
        else:
            self.modes[seen.path] = trees.file_mode(seen.mode)
            todo.reads[seen.folder, state].append((seen, expected))

    def _note(self, seen: Seen) -> None:
        if seen.kind == "file" and seen.mode & _SET_ID:
            self.notes["set-id bits"].append(seen.path)
        needed = _OWNER_LOOKS.get(seen.kind, 0)
        if seen.mode & needed != needed:
            self.notes["locked by mode"].append(f"{seen.path} ({stat.S_IMODE(seen.mode):04o})")


def _unread(kind: str, mode: int, size: int, target: str | None) -> Side:
    match kind:
        case "file":
            return Side("file", trees.file_mode(mode), None, size)
        case "link":
            return Side("symlink", trees.LINK, None, size, target)
        case "folder" | "foreign":
            return trees.DIRECTORY
        case "unreadable":
            return trees.UNREADABLE
        case _:
            return trees.SPECIAL


def _check_length(path: str) -> None:
    length = len(raw(path))
    if length > LONGEST:
        raise InspectionFailed(
            f"a new path is {length} bytes long; the longest that is taken is {LONGEST}",
            reason="name_too_long",
            path=path[:LONGEST],
            length=length,
        )
