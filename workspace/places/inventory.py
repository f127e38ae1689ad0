"""What lies in a root, by what its names and proofs say of it; nothing is opened but proofs, nothing is changed."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from workspace.disk.roots import Root
from workspace.places.allocations import PROOF, foreign
from workspace.repository import repositories


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A path of a root, the row it says it belongs to, and why it cannot be that one's, if so."""

    path: Path
    id: UUID | None
    strange: str = ""


def workspaces(root: Root) -> Iterator[Stored]:
    """List the folders of allocations; the times of none of them mean anything."""
    for path in _entries(root.workspaces):
        if path.name.endswith(PROOF) and os.path.lexists(path.with_name(path.name.removesuffix(PROOF))):
            continue  # told with its folder
        folder = path.with_name(path.name.removesuffix(PROOF))
        allocation = _uuid(folder.name.rpartition("-")[2])
        strange = foreign(root, folder, allocation) if allocation else "its name is no workspace's"
        yield Stored(path=path, id=allocation, strange=strange)


def attempts(root: Root) -> Iterator[Stored]:
    """List the folders of what attempts left."""
    return _named(root.attempts, str)


def runners(root: Root) -> Iterator[Stored]:
    """List the runner repositories."""
    return _named(root.repositories, lambda found: repositories.folder(root, found).name)


def _named(folder: Path, name: Callable[[UUID], str]) -> Iterator[Stored]:
    for path in _entries(folder):
        found = _uuid(path.stem)
        spelt = found is not None and path.name == name(found)
        yield Stored(path=path, id=found if spelt else None, strange="" if spelt else "its name is not one of ours")


def _entries(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as found:
        for entry in found:
            yield folder / entry.name


def _uuid(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text)
    return None
