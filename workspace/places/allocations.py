"""Allocations on disk: made with a proof of whose they are, attached only when fit, removed only when proven ours."""

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NoReturn
from uuid import UUID, uuid4

from statemachine.failpoints import reach
from statemachine.refusals import Refusal
from workspace.disk import durability
from workspace.disk.roots import Root, refuse_overlap
from workspace.inspection.inspections import DEADLINE, Inspection, Tree, inspect
from workspace.places import trash
from workspace.repository.repositories import RunnerRepository

_NAME: Final = re.compile(r"[0-9]+-[0-9]+-[0-9a-f]{32}")
PROOF: Final = ".owner"


@dataclass(frozen=True, slots=True)
class Admission:
    """Hold the verdict on a workspace; an empty code admits it."""

    code: str = ""
    message: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Released:
    """Say whether a workspace is gone; else why not, and what stays."""

    gone: bool
    reason: str = ""
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Say what a ready workspace must be. `others` are the paths of other live allocations."""

    allocation: UUID
    head: str
    baseline: str | None = None
    ignored: Collection[str] = ()
    others: Collection[Path] = ()


def folder_name(task: int, epoch: int, allocation: UUID) -> str:
    """Name the folder of an allocation; it says whose it is and is used once."""
    return f"{task}-{epoch}-{allocation.hex}"


def prepare(root: Root, *, task: int, epoch: int, allocation: UUID) -> Path:
    """Make the empty folder of an allocation whose row is stored, after the proof of whose it is."""
    folder = root.workspaces / folder_name(task, epoch, allocation)
    proof = _proof(folder)
    with proof.open("x", encoding="ascii") as file:
        json.dump({"allocation": allocation.hex, "owner": root.owner.hex}, file)
        file.flush()
        os.fsync(file.fileno())
    reach("proof_written")
    folder.mkdir(mode=0o700)
    durability.flush(root.workspaces)
    return folder


def admit(
    root: Root,
    folder: Path,
    expected: Expected,
    *,
    repo: RunnerRepository,
    spool: Path,
    deadline: timedelta = DEADLINE,
    aborted: Callable[[], bool] = lambda: False,
) -> Admission:
    """Look whether a ready workspace may be attached; nothing is changed.

    Raises:
        Refusal: `workspace_lookup_failed` where it could not be looked at, which is never "absent".
    """
    if refused := _misplaced(root, folder, expected):
        return refused
    tree = Tree(folder, expected.baseline)
    return _fit(inspect(tree, repo=repo, base=expected.head, spool=spool, deadline=deadline, aborted=aborted), expected)


def release(root: Root, folder: Path, allocation: UUID, *, forbidden: Sequence[Path] = ()) -> Released:
    """Remove a workspace that is proven ours; safe to repeat after a kill at any point.

    Raises:
        Refusal: `workspace_mismatch`, or `root_overlaps` where the path is, holds or lies in a forbidden folder.
    """
    container = root.trash / folder.name
    if not any(os.path.lexists(path) for path in (folder, _proof(folder), container)):
        return Released(gone=True, reason="nothing of it is there")
    _prove(root, folder, allocation)
    refuse_overlap(folder, forbidden)
    if mounts := trash.mounts_beneath(folder):
        return Released(gone=False, reason="something is mounted there", left=tuple(mounts))
    container.mkdir(mode=0o700, exist_ok=True)
    try:
        _throw(folder, container)
    except OSError as error:
        return Released(gone=False, reason=f"it could not be moved to the trash: {error.strerror}", left=(str(folder),))
    reach("space_thrown")
    if left := trash.empty(container):
        return Released(gone=False, reason="some of it could not be removed", left=tuple(left))
    container.rmdir()
    _proof(folder).unlink()
    return Released(gone=True)


def _throw(folder: Path, container: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # thrown before a kill
        mode = stat.S_IMODE(folder.lstat().st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(mode | stat.S_IRWXU, follow_symlinks=False)
        folder.rename(container / uuid4().hex)


def _proof(folder: Path) -> Path:
    return folder.with_name(folder.name + PROOF)


def _prove(root: Root, folder: Path, allocation: UUID) -> None:
    if why := foreign(root, folder, allocation):
        raise Refusal("workspace_mismatch", f"{folder} is not touched: {why}", path=str(folder))
    if os.path.lexists(folder) and not stat.S_ISDIR(folder.lstat().st_mode):
        raise Refusal("workspace_mismatch", f"{folder} is not touched: it is no folder", path=str(folder))


def foreign(root: Root, folder: Path, allocation: UUID) -> str:
    """Say why a path is not proven to be this allocation's; empty where it is."""
    if folder.parent != root.workspaces or not _NAME.fullmatch(folder.name):
        return "it is no workspace of this root"
    if not folder.name.endswith(allocation.hex):
        return "its name is another allocation's"
    try:
        proof = json.loads(_proof(folder).read_text("ascii"))
    except (OSError, ValueError):
        return "there is no proof of whose it is"
    ours = {"allocation": allocation.hex, "owner": root.owner.hex}
    return "" if proof == ours else "its proof names another owner"


def _misplaced(root: Root, folder: Path, expected: Expected) -> Admission | None:
    try:
        token = root.owner
        found = _found(folder)
    except (OSError, ValueError) as error:
        _not_looked_at(folder, error)
    facts = {"path": str(folder), "owner": token.hex}
    if folder.parent != root.workspaces or folder in expected.others:
        return _mismatch("it is another allocation's, or outside the root", facts)
    if found is None:
        return Admission("workspace_missing", f"the workspace {folder} is not there any more", facts)
    if not stat.S_ISDIR(found.st_mode):
        return _mismatch("it is no folder", facts)
    if why := foreign(root, folder, expected.allocation):
        return _mismatch(why, facts)
    return None


def _found(folder: Path) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError):
        return folder.lstat()
    return None


def _mismatch(why: str, facts: dict[str, Any]) -> Admission:
    return Admission("workspace_mismatch", f"the workspace {facts['path']} is not the one recorded: {why}", facts)


def _not_looked_at(folder: Path, error: Exception) -> NoReturn:
    raise Refusal(
        "workspace_lookup_failed",
        f"nobody could look whether the workspace {folder} is there: {error}",
        hint="is the root mounted and readable? then try again",
        path=str(folder),
    ) from error


def _fit(inspection: Inspection, expected: Expected) -> Admission:
    manifest = inspection.manifest
    facts = {"path": str(inspection.request.tree.folder), "digest": inspection.digest}
    if manifest["metadata_changed"] or manifest["agent_commits"]:
        moved = {"metadata": manifest["metadata"], "commits": manifest["commits"]}
        return Admission("metadata_changed", "the workspace's repository is not as recorded", facts | moved)
    unknown = [line["path"] for line in manifest["ignored"] if line["path"] not in expected.ignored]
    changes = manifest.get("changes")
    if changes is None or changes or unknown or manifest["gitlink_content"]:
        paths = [change["path"] for change in changes or []] + unknown + manifest["gitlink_content"]
        return Admission("tree_unfit", "the workspace's tree is not the expected head", facts | {"paths": paths[:100]})
    return Admission(facts=facts)
