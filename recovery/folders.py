"""What an attempt left in its own folder, read as what it is: written where an agent could have been."""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from recovery.scene import Scene
from statemachine.refusals import Refusal
from store.attempts import Attempt
from store.recoveries import Owner
from workspace import executors
from workspace.agents import endings
from workspace.agents.endings import Kept
from workspace.inspection.links import LinkState
from workspace.places import trash

# What is of use only while an attempt runs: its temporary files, and what was read of its tree, by whomever.
_SCRATCH: Final = ("tmp", "spool", "attached", "recovered-*", *executors.SCRATCH)
_LONGEST: Final = 16 << 20
# A pipe in place of the file must not be waited for, nor a link followed.
_PLAINLY: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def place(scene: Scene, attempt: Attempt | Owner) -> Path:
    """Name where the folder of an attempt is to be."""
    return scene.root.attempts / str(attempt.id)


def of(scene: Scene, attempt: Attempt | Owner) -> Path:
    """Name the folder of an attempt, which must be one: through a link, we would write and remove elsewhere.

    Raises:
        Refusal: `attempt_folder_lost`.
    """
    folder = place(scene, attempt)
    if folder.is_symlink() or not folder.is_dir():
        raise Refusal("attempt_folder_lost", f"{folder} is not the folder that was made for the attempt")
    return folder


@contextmanager
def room(scene: Scene, attempt: Attempt) -> Iterator[Path]:
    """Give a place for what is read of a tree, not made yet and gone afterwards; a dry run has it elsewhere."""
    if scene.dry_run:
        with tempfile.TemporaryDirectory(prefix="weighlock-") as elsewhere:
            yield Path(elsewhere, "spool")
        return
    spool = of(scene, attempt) / f"recovered-{uuid4().hex}"
    try:
        yield spool
    finally:
        shutil.rmtree(spool, ignore_errors=True)


def kept(scene: Scene, attempt: Attempt, *, epoch: int) -> Kept | None:
    """Read what the worker kept of its agent's end, if it came so far; an agent may have written it."""
    return endings.kept_in(of(scene, attempt), attempt=attempt.id, epoch=epoch)


def links(scene: Scene, attempt: Attempt) -> LinkState:
    """Read where declared links led before the launch; the row's digest proves that nobody rewrote the file since."""
    try:
        kept = LinkState(json.loads(_read(of(scene, attempt) / "links.json")))
        true = kept.digest == attempt.links_digest
    except (OSError, ValueError, RecursionError) as error:
        raise _unknown(f"what is known of declared links cannot be read: {error}") from error
    if not true:
        raise _unknown("what was kept about declared links is not what the attempt began with")
    return kept


def scratch(folder: Path) -> list[Path]:
    """List what lies in an attempt's folder that it needed only while it ran."""
    return [found for pattern in _SCRATCH for found in folder.glob(pattern)]


def clear(scene: Scene, attempt: Attempt | Owner) -> None:
    """Remove what an attempt needed only while it ran; what cannot be removed stays in its folder."""
    with suppress(Refusal):
        for folder in scratch(of(scene, attempt)):
            with suppress(OSError):
                trash.empty(folder)
                folder.rmdir()


def _read(path: Path) -> bytes:
    descriptor = os.open(path, _PLAINLY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no file")
        return file.read(_LONGEST)


def _unknown(message: str) -> Refusal:
    return Refusal("links_unknown", message)
