"""Sort what is seen in a tree: as the base has it, changed, new, ignored by the base's rules, or odd."""

import stat
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workspace.disk.descriptors import State
from workspace.disk.names import LONGEST, join, leaves_tree, raw, spells_git
from workspace.inspection import trees
from workspace.inspection.trees import Base, Side
from workspace.inspection.walks import InspectionFailed

_SET_ID: Final = stat.S_ISUID | stat.S_ISGID


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold one entry as it was listed."""

    folder: str
    name: str
    kind: str
    mode: int
    size: int
    signature: State
    target: str | None

    @property
    def path(self) -> str:
        """Return where it is in the tree."""
        return join(self.folder, self.name)


@dataclass(slots=True)
class Round:
    """Collect what one round of looking leaves to do."""

    folders: list[str] = field(default_factory=list)
    reads: dict[str, list[tuple[Seen, str]]] = field(default_factory=lambda: defaultdict(list))
    states: dict[str, State] = field(default_factory=dict)
    untracked: list[tuple[Seen, State]] = field(default_factory=list)


@dataclass(slots=True)
class Sightings:
    """Collect what is seen. `now` holds what is there and not as the base has it, `gone` what is not there."""

    base: Base
    has_gitdir: bool
    now: dict[str, Side] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    promised: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    closed: dict[str, str] = field(default_factory=dict)
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
            if found["state"] != "absent":
                self.closed[folder] = found["state"]
            return
        self.opened.add(folder)
        self.gone.update(join(folder, name) for name in found["gone"])
        if self.base.is_gitlink(folder):
            self.gitlink_content += [join(folder, str(entry[0])) for entry in found["entries"]]
            return
        repository = self._is_repository(folder, found["repository"])
        if repository and folder not in self.base.folders:
            return
        for entry in found["entries"]:
            if not (repository and entry[0] == ".git"):
                self._entry(Seen(folder, *entry), found["signature"], todo)

    def new(self, seen: Seen, state: State, todo: Round) -> None:
        """Take an entry the base has not, and does not ignore."""
        self._note(seen)
        if seen.kind == "folder":
            self.promised.add(seen.path)
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

    def unlocked(self, modes: Mapping[str, int]) -> None:
        """Take entries that could only be looked at because their owner may."""
        self.notes["locked by mode"] += [f"{path} ({stat.S_IMODE(mode):04o})" for path, mode in modes.items()]

    def settle(self) -> None:
        """Say of folders that stayed closed what they are; refuse a tree in which a listed folder was not there."""
        for folder in sorted(self.promised - self.opened - self.closed.keys()):
            raise InspectionFailed("a folder went away while the tree was read", reason="changed", path=folder)
        for folder, state in self.closed.items():
            if not folder:
                raise InspectionFailed("the tree itself cannot be opened", reason=state)
            if not self.out_of_sight(folder.rpartition("/")[0]):  # the topmost says it
                self.now[folder] = trees.UNREADABLE if state == "unreadable" else trees.DIRECTORY

    def out_of_sight(self, folder: str) -> bool:
        """Tell whether a folder, or one above it, could not be looked into."""
        return any(folder == closed or folder.startswith(f"{closed}/") for closed in self.closed)

    def _is_repository(self, folder: str, kind: str) -> bool:
        if not folder or not kind or (kind == "bare" and self.base.has_bare_repository(folder)):
            return False
        self.now[folder] = trees.REPOSITORY
        return True

    def _entry(self, seen: Seen, state: State, todo: Round) -> None:
        path = seen.path
        if path == ".git" and self.has_gitdir:
            return
        if spells_git(seen.name):
            self._git_named(seen, state, todo)
        elif seen.kind == "folder" and (path in self.base.folders or self.base.is_gitlink(path)):
            self._note(seen)
            self.promised.add(path)
            if path not in self.base.folders:
                todo.folders.append(path)
        elif seen.kind != "folder" and path in self.base.entries:
            self._tracked(seen, state, todo)
        else:
            if path in self.base.entries:  # a folder where the base has a file
                self.gone.add(path)
            _check_length(path)
            todo.untracked.append((seen, state))

    def _tracked(self, seen: Seen, state: State, todo: Round) -> None:
        path = seen.path
        self._note(seen)
        old = self.base.side(path)
        if (old.type, seen.kind) not in {("file", "file"), ("symlink", "link")}:
            self._content(seen, state, "", todo)
            return
        if seen.kind == "file" and trees.file_mode(seen.mode) != old.mode:
            self.now[path] = Side("file", trees.file_mode(seen.mode), old.id, seen.size)
        self._content(seen, state, str(old.id), todo)

    def _git_named(self, seen: Seen, state: State, todo: Round) -> None:
        self.added += 1
        if seen.kind == "folder":
            self.now[seen.path] = trees.DIRECTORY
        else:
            self._content(seen, state, "", todo)

    def _content(self, seen: Seen, state: State, expected: str, todo: Round) -> None:
        if seen.kind == "special":
            self.now[seen.path] = trees.SPECIAL
        else:
            self.modes[seen.path] = trees.file_mode(seen.mode)
            todo.states[seen.folder] = state
            todo.reads[seen.folder].append((seen, expected))

    def _note(self, seen: Seen) -> None:
        if seen.kind == "file" and seen.mode & _SET_ID:
            self.notes["set-id bits"].append(seen.path)
        if seen.kind == "file" and not seen.mode & stat.S_IRUSR:
            self.unlocked({seen.path: seen.mode})


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
