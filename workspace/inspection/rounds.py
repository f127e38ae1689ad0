"""Walk a whole tree level by level: list it, ask what the base ignores, read what may be read, list the next."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from workspace.inspection.ignores import Ignores
from workspace.inspection.reads import Expected
from workspace.inspection.sightings import Round, Seen, Sightings
from workspace.inspection.walks import InspectionFailed, Job, Walk

_FOLDERS_AT_ONCE: Final = 32
_FILES_AT_ONCE: Final = 256
_BYTES_AT_ONCE: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Hold what an inspection refuses to go past; `added_bytes` is by the size a file claims, before it is read."""

    changes: int = 10_000
    entries: int = 1_000_000
    added_bytes: int = 4 << 30


class TooManyChangesError(Exception):
    """Say that there are more changes than anybody should judge."""


@dataclass(slots=True)
class Rounds:
    """Drive one walk to its end; what was seen is in `sightings`."""

    walk: Walk
    ignores: Ignores
    sightings: Sightings
    limits: Limits
    patience: timedelta
    _jobs: deque[Job] = field(default_factory=deque)
    _todo: Round = field(default_factory=Round)
    _looking: int = 0
    _entries: int = 0
    _added_bytes: int = 0

    def run(self) -> None:
        """Look at everything; raises `TooManyChangesError` as soon as that is certain."""
        # What the base has is looked for at once, wherever it is now; what it has not is found level by level.
        self._look(list(self.sightings.base.folders))
        for job, answer in self.walk.run(self._jobs):
            match job[0]:
                case "look":
                    self._listed(answer)
                case "survey":
                    self.sightings.surveyed(answer)
                case _:
                    self.sightings.read(answer)
        self.sightings.settle()

    def _look(self, folders: Sequence[str]) -> None:
        expected = self.sightings.base.folders
        share: list[tuple[str, Mapping[str, Expected]]] = []
        files = 0
        for folder in folders:
            share.append((folder, expected.get(folder, {})))
            files += len(share[-1][1])
            if len(share) >= _FOLDERS_AT_ONCE or files >= _FILES_AT_ONCE:
                self._order_look(share)
                share, files = [], 0
        if share:
            self._order_look(share)

    def _order_look(self, share: list[tuple[str, Mapping[str, Expected]]]) -> None:
        self._jobs.append(("look", share))
        self._looking += 1

    def _listed(self, folders: list[dict[str, Any]]) -> None:
        for found in folders:
            self._entries += len(found["entries"])
            self.sightings.folder(found, self._todo)
        if self._entries > self.limits.entries:
            raise InspectionFailed(
                f"the tree holds more than {self.limits.entries} entries that are not ignored", reason="entries"
            )
        self._looking -= 1
        if not self._looking:
            self._descend()

    def _descend(self) -> None:
        todo, self._todo = self._todo, Round()
        self._sort(todo)
        if self.sightings.added > self.limits.changes:
            raise TooManyChangesError
        self._look(todo.folders)
        self._jobs.extend(("read", batch) for batch in self._batches(todo))

    def _sort(self, todo: Round) -> None:
        """Tell apart what is new and what the base ignores; every folder above these is not ignored."""
        files = [seen.path for seen, _ in todo.untracked if seen.kind != "folder"]
        folders = [seen.path for seen, _ in todo.untracked if seen.kind == "folder"]
        ignored = self.ignores.among(files, folders, self.patience)
        for seen, state in todo.untracked:
            if seen.path not in ignored:
                self.sightings.new(seen, state, todo)
            elif seen.kind == "folder":
                self._jobs.append(("survey", seen.path))
            else:
                self.sightings.left_out(seen)

    def _batches(self, todo: Round) -> Iterator[list[Any]]:
        batch: list[Any] = []
        files = size = 0
        for folder, entries in todo.reads.items():
            for start in range(0, len(entries), _FILES_AT_ONCE):
                part = entries[start : start + _FILES_AT_ONCE]
                batch.append([folder, todo.states[folder], [self._order(seen, expected) for seen, expected in part]])
                files, size = files + len(part), size + sum(seen.size for seen, _ in part)
                if files >= _FILES_AT_ONCE or size >= _BYTES_AT_ONCE:
                    yield batch
                    batch, files, size = [], 0, 0
        if batch:
            yield batch

    def _order(self, seen: Seen, expected: str) -> list[Any]:
        self._weigh(seen)
        return [seen.name, seen.kind, seen.signature, expected]

    def _weigh(self, seen: Seen) -> None:
        old = self.sightings.base.entries.get(seen.path)
        self._added_bytes += max(0, seen.size - (old.size or 0 if old else 0))
        if self._added_bytes > self.limits.added_bytes:
            raise InspectionFailed(
                f"the tree grew by more than {self.limits.added_bytes} bytes",
                hint="remove what does not belong there, or raise the limit",
                reason="added_bytes",
                path=seen.path,
                size=seen.size,
            )
