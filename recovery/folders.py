"""What an attempt left in its own folder, read as what it is: written where an agent could have been."""

import json
import shutil
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
from workspace.agents import endings
from workspace.agents.endings import Kept
from workspace.disk.files import read_plainly
from workspace.executors import scraps
from workspace.inspection.links import LinkState

_LONGEST: Final = 16 << 20


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
        kept = LinkState(json.loads(read_plainly(of(scene, attempt) / "links.json", _LONGEST)))
        true = kept.digest == attempt.links_digest
    except (OSError, ValueError, RecursionError) as error:
        raise _unknown(f"what is known of declared links cannot be read: {error}") from error
    if not true:
        raise _unknown("what was kept about declared links is not what the attempt began with")
    return kept


def clear(scene: Scene, attempt: Attempt | Owner) -> None:
    """Remove what an attempt needed only while it ran; what cannot be removed stays in its folder."""
    with suppress(Refusal):
        scraps.clear(of(scene, attempt))


def _unknown(message: str) -> Refusal:
    return Refusal("links_unknown", message)
