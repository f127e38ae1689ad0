"""What a tree is made of, as it was in the base and as it is found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from workspace.disk.names import text
from workspace.inspection.reads import Expected
from workspace.repository.repositories import Entry

FILE: Final = "100644"
PROGRAM: Final = "100755"
LINK: Final = "120000"
GITLINK: Final = "160000"
FOLDER: Final = "040000"
NO_MODE: Final = "000000"
_TYPES: Final = {FILE: "file", PROGRAM: "file", LINK: "symlink", GITLINK: "gitlink"}
_OWNER_RUNS: Final = 0o100


@dataclass(frozen=True, slots=True)
class Side:
    """Describe one path on one side of a change, in the manifest's words."""

    type: str
    mode: str = NO_MODE
    id: str | None = None
    size: int = 0
    target: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"type": self.type, "mode": self.mode, "id": self.id, "size": self.size, "target": self.target}


DIRECTORY: Final = Side("directory", FOLDER)
REPOSITORY: Final = Side("repository", FOLDER)
UNREADABLE: Final = Side("unreadable")
SPECIAL: Final = Side("special")


def file_mode(mode: int) -> str:
    """Reduce a file's mode to the two that git knows, as git does."""
    return PROGRAM if mode & _OWNER_RUNS else FILE


def plain_mode(mode: str) -> str:
    """Read a mode of an old tree as git reads it: group-writable files are files."""
    return mode if mode in _TYPES else FILE


@dataclass(frozen=True, slots=True)
class Base:
    """Hold a commit's tree by path, and by folder what each holds: name -> mode, size, id."""

    listing: Mapping[bytes, Entry]
    entries: Mapping[str, Entry]
    folders: Mapping[str, Mapping[str, Expected]]

    @classmethod
    def of(cls, listing: Mapping[bytes, Entry]) -> Self:
        """Read a listing."""
        entries = {text(path): entry for path, entry in listing.items()}
        folders: dict[str, dict[str, Expected]] = {"": {}}
        for path, entry in entries.items():
            folder, _, name = path.rpartition("/")
            if folder not in folders:
                _imply(folder, folders)
            folders[folder][name] = (plain_mode(entry.mode), entry.size or 0, entry.id)
        return cls(listing, entries, folders)

    def is_gitlink(self, path: str) -> bool:
        """Tell whether the base has a submodule there."""
        return path in self.entries and self.entries[path].mode == GITLINK

    def has_bare_repository(self, folder: str) -> bool:
        """Tell whether the base itself holds what looks like a bare repository there."""
        inside = (f"{folder}/objects", f"{folder}/refs")
        return f"{folder}/HEAD" in self.entries and all(each in self.folders for each in inside)

    def side(self, path: str, target: str | None = None) -> Side:
        """Describe a path of the base; only links have a target, and the caller knows it."""
        entry = self.entries[path]
        mode = plain_mode(entry.mode)
        return Side(_TYPES[mode], mode, entry.id, entry.size or 0, target)


def _imply(folder: str, folders: dict[str, dict[str, Expected]]) -> None:
    while folder not in folders:
        folders[folder] = {}
        folder = folder.rpartition("/")[0]
