"""Inspect a tree nobody is trusted about: what is different from its base, told as a manifest.

No git runs in the tree or over it, nothing that is not a folder or a file is opened, no link is followed.
"""

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from statemachine.refusals import Refusal
from workspace.disk import descriptors
from workspace.disk.descriptors import Folders
from workspace.disk.names import text
from workspace.inspection import differences, gitdirs, links, manifests
from workspace.inspection.ignores import Ignores
from workspace.inspection.links import LinkState
from workspace.inspection.rounds import Limits, Rounds, TooManyChangesError
from workspace.inspection.sightings import Sightings
from workspace.inspection.trees import Base, Side
from workspace.inspection.walks import Bounds, InspectionAborted, InspectionFailed, Walk, told
from workspace.repository.blobs import blobs
from workspace.repository.repositories import RunnerRepository, listing

__all__ = [
    "DEADLINE",
    "Inspection",
    "InspectionAborted",
    "InspectionFailed",
    "Limits",
    "Tree",
    "inspect",
    "unchanged_since",
]

DEADLINE: Final = timedelta(seconds=120)
_NO_LINKS: Final = LinkState({"version": 1, "links": {}})


class LeftBehind(Protocol):
    """What is told of a process that outlived the agent."""

    @property
    def pid(self) -> int:
        """Return its id."""
        ...

    @property
    def command(self) -> str:
        """Return its command, quoted."""
        ...


@dataclass(frozen=True, slots=True)
class Tree:
    """Name a work tree; with a baseline it has a `.git` of its own, which must still be as that says."""

    folder: Path
    baseline: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Hold everything that an inspection depends on, so that it can be made again."""

    tree: Tree
    repo: RunnerRepository
    base: str
    before_links: LinkState
    leftovers: tuple[LeftBehind, ...]
    deadline: timedelta
    aborted: Callable[[], bool]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Room:
    """Say where an inspection may write, and whether it keeps what it read there."""

    spool: Path
    keep: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Hold a manifest, its digest, and the folder with the packs of changed content."""

    manifest: dict[str, Any]
    digest: str
    spool: Path
    request: Request


def inspect(
    tree: Tree,
    *,
    repo: RunnerRepository,
    base: str,
    spool: Path,
    declared_links: Sequence[str] = (),
    before_links: LinkState | None = None,
    deadline: timedelta = DEADLINE,
    aborted: Callable[[], bool] = lambda: False,
    leftovers: Sequence[LeftBehind] = (),
    limits: Limits | None = None,
) -> Inspection:
    """Inspect a dead tree against its base; `spool` is a folder that is not there yet.

    Raises:
        InspectionAborted: `aborted` said so, and nothing else was wrong.
        InspectionFailed: anything else that leaves a part of the tree unseen.
    """
    request = Request(
        tree=tree,
        repo=repo,
        base=base,
        before_links=_chosen(before_links or _NO_LINKS, declared_links),
        leftovers=tuple(leftovers),
        deadline=deadline,
        aborted=aborted,
        limits=limits or Limits(),
    )
    with told():
        spool.mkdir(mode=0o700)
        manifest = _manifest(request, Room(spool, keep=True))
    return Inspection(manifest=manifest, digest=manifests.digest(manifest), spool=spool, request=request)


def unchanged_since(inspection: Inspection, *, aborted: Callable[[], bool] | None = None) -> None:
    """Inspect again and refuse a tree that is not what was judged.

    Raises:
        Refusal: `tree_changed_after_audit`.
    """
    request = replace(inspection.request, aborted=aborted or inspection.request.aborted)
    with told(), tempfile.TemporaryDirectory(dir=inspection.spool) as scratch:
        again = _manifest(request, Room(Path(scratch), keep=False))
    if manifests.digest(again) != inspection.digest:
        raise Refusal(
            "tree_changed_after_audit",
            "the work tree is not what was inspected any more",
            hint="something wrote to it after the agent was ended: look for a process that survived",
            judged=inspection.digest,
            found=manifests.digest(again),
        )


def _chosen(known: LinkState, declared: Sequence[str]) -> LinkState:
    unknown = sorted(set(declared) - known.document["links"].keys())
    if unknown:
        raise InspectionFailed(
            "nobody looked where declared links lead before the agent ran", reason="links_unknown", paths=unknown
        )
    return known


def _manifest(request: Request, room: Room) -> manifests.Manifest:
    bounds = Bounds.starting_now(request.deadline, request.aborted)
    with descriptors.accessible(request.tree.folder) as tree:
        seen, complete = _look(request, tree, room, bounds)
        changes = _changes(request, tree, seen) if complete else None
        difference = gitdirs.compare(request.tree.folder, request.tree.baseline)
        moved = links.after(
            request.tree.folder,
            request.before_links,
            object_format=request.repo.object_format,
            check=bounds.check,
        )
    bounds.check()
    manifest = {
        "version": manifests.VERSION,
        "base": request.base,
        "metadata_changed": bool(difference.metadata),
        "metadata": list(difference.metadata),
        "agent_commits": bool(difference.commits),
        "commits": list(difference.commits),
        "links_changed": moved,
        "gitlink_content": sorted(seen.gitlink_content),
        "leftover_processes": [{"pid": each.pid, "command": each.command} for each in request.leftovers],
        "ignored": sorted(seen.ignored, key=lambda line: str(line["path"])),
        "notes": manifests.notes(seen.notes),
        "identity": _identity(room.spool),
    }
    # A list that is not whole is not told at all: who judges must not take a part for the whole.
    return manifest if changes is None else manifest | {"changes": changes}


def _look(request: Request, tree: int, room: Room, bounds: Bounds) -> tuple[Sightings, bool]:
    """Walk the tree; tell what was seen, and whether it is all or there is more than anybody should judge."""
    kept = room.spool if room.keep else None
    with (
        tempfile.TemporaryDirectory(dir=room.spool) as scratch,
        Walk(tree, algorithm=request.repo.object_format, spool=kept, bounds=bounds) as walk,
    ):
        # The helpers start meanwhile.
        base = Base.of(listing(request.repo, request.base, sizes=True))
        seen = Sightings(base, has_gitdir=request.tree.baseline is not None)
        rules = Ignores(request.repo, base.listing, Path(scratch, "rules"))
        try:
            Rounds(walk, rules, seen, request.limits, request.deadline).run()
        except TooManyChangesError:
            return seen, False
        seen.unlocked(walk.finish())
    return seen, True


def _changes(request: Request, tree: int, seen: Sightings) -> list[differences.Change] | None:
    """List the changes, or None where there are too many."""
    gone = differences.missing(seen)
    if len(gone) > request.limits.changes:
        return None
    olds = _olds(request.repo, seen, gone)
    with Folders(tree) as folders:
        found = differences.changes(seen, olds, functools.partial(links.traverses, folders))
    counted = sum(not change["ignored"] for change in found)
    return found if counted <= request.limits.changes else None


def _olds(repo: RunnerRepository, seen: Sightings, gone: Sequence[str]) -> dict[str, Side]:
    """Describe how the base had each path that is gone or different; what its links said is read from the base."""
    different = [path for path in (*seen.now, *seen.ignored_odd) if path in seen.base.entries]
    olds = {path: seen.base.side(path) for path in (*gone, *different)}
    said = [path for path, side in olds.items() if side.type == "symlink"]
    for path, blob in zip(said, blobs(repo, [str(olds[path].id) for path in said]), strict=True):
        olds[path] = seen.base.side(path, text(b"".join(blob.pieces())))
    return olds


def _identity(folder: Path) -> str:
    """Try whether the file system takes two spellings of a name for one."""
    probe, other = folder / "Identity-\u00e9", folder / "identity-e\u0301"
    probe.touch(mode=0o600)
    try:
        return "folding" if other.exists() or (folder / "identity-\u00e9").exists() else "exact"
    finally:
        probe.unlink()
