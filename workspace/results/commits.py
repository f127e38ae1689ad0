"""Commit exactly what was judged: built aside, proven equal to the manifest, then kept under the attempt's ref."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any, Protocol

from statemachine.failpoints import reach
from workspace.repository import quarantines, refs, repositories
from workspace.results import edits
from workspace.results.edits import CommitRefused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path
    from uuid import UUID

    from workspace.repository.quarantines import Quarantine
    from workspace.repository.repositories import RunnerRepository

__all__ = ["CommitRefused", "Committed", "Identity", "Judged", "commit", "write"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Name who a commit says it is by."""

    name: str = "Weighlock"
    email: str = "noreply@weighlock.invalid"


@dataclass(frozen=True, slots=True)
class Committed:
    """Name a commit that is stored, flushed and kept by its attempt's ref."""

    id: str
    tree: str


class Judged(Protocol):
    """Ask of an inspection what a commit needs: its manifest, and the folder of packs that hold the read bytes."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Return what was found and judged."""

    @property
    def spool(self) -> Path:
        """Return the folder of `blobs-*.pack`."""


def commit(
    repo: RunnerRepository,
    inspection: Judged,
    *,
    parent: str,
    message: str,
    author: Identity,
    date: datetime,
    attempt: UUID,
) -> Committed | None:
    """Commit a judged manifest on top of `parent` under the attempt's ref; None where it changes nothing.

    The same arguments give the same id, so a repetition finds its ref already there and succeeds.

    Raises:
        CommitRefused: where what git would commit is not exactly what was judged.
        LostRace: `conflict` where the attempt's ref keeps another commit.
    """
    wanted = edits.read(inspection.manifest)
    if not wanted:
        return None
    if inspection.manifest["base"] != repositories.check_id(repo, parent):
        raise CommitRefused("the tree was inspected against another base")
    with quarantines.quarantine(repo) as room:
        edits.load_exactly(room, inspection.spool, wanted)
        tree = edits.build(room, parent, wanted)
        edits.prove(room, parent, tree, wanted)
        made = write(room, tree, parent=parent, message=message, author=author, date=date)
        reach("objects_built")
        room.migrate(made, parent=parent)
    reach("objects_stored")
    refs.hold(repo, refs.attempt_ref(attempt), made)
    return Committed(made, tree)


def write(room: Quarantine, tree: str, *, parent: str, message: str, author: Identity, date: datetime) -> str:
    """Write a commit object into the quarantine and return its id; the date is written in UTC."""
    if date.tzinfo is None:
        raise ValueError("a commit's date needs a time zone")
    at = f"@{int(date.astimezone(UTC).timestamp())} +0000"
    env = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", author.name), ("EMAIL", author.email), ("DATE", at))
    }
    printed = room.run("commit-tree", tree, "-p", parent, stdin=message.encode(), env=env)
    return repositories.check_id(room.repo, printed.decode("ascii").strip())
