"""A tree of path to mode that can be changed, with its folders counted and its spellings folded once."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from statemachine.paths import fold, parents

FILE: Final = "100644"
SYMLINK: Final = "120000"
GITLINK: Final = "160000"


class Tree:
    """Hold files by path; folders are there as long as something is in them."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self.entries: dict[str, str] = {}
        self._beneath: Counter[str] = Counter()
        self._spellings: dict[str, set[str]] = {}
        for path, mode in entries.items():
            self.put(path, mode)

    def put(self, path: str, mode: str) -> None:
        """Put a file there, in place of any that has this path."""
        self.take(path)
        self.entries[path] = mode
        folders = parents(path)
        for name in (path, *(folder for folder in folders if not self._beneath[folder])):
            self._spellings.setdefault(fold(name), set()).add(name)
        self._beneath.update(folders)

    def take(self, path: str) -> str | None:
        """Take a file away; gives its mode, or None where there was none."""
        mode = self.entries.pop(path, None)
        if mode is not None:
            self._beneath.subtract(parents(path))
        return mode

    def is_folder(self, name: str) -> bool:
        """Tell whether something lies beneath a name."""
        return self._beneath[name] > 0

    def twin(self, path: str) -> str | None:
        """Find what only folding takes for the path, or for a folder on the way to it, that is not there itself."""
        for name in (path, *parents(path)):
            spellings = [other for other in self._spellings.get(fold(name), ()) if self._holds(other)]
            if spellings and name not in spellings:
                return min(spellings)
        return None

    def _holds(self, name: str) -> bool:
        return name in self.entries or self.is_folder(name)
