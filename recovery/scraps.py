"""Scraps: what a killed process needed only while it ran; its rows are settled, and nobody comes back for it."""

import shutil
from collections.abc import Iterator
from itertools import islice

from recovery import folders
from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.failpoints import reach
from store import recoveries, repositories
from store.recoveries import Owner
from workspace.executors.scraps import scraps
from workspace.places import inventory
from workspace.repository import intake
from workspace.repository import repositories as runners

_AT_ONCE = 500


def clear_scraps(scene: Scene, notes: Notes) -> None:
    """Remove scraps of this root; only a whole pass does."""
    if scene.brief:
        return
    _of_repositories(scene, notes)
    _of_attempts(scene, notes)


def _of_repositories(scene: Scene, notes: Notes) -> None:
    with scene.database.connection() as db:
        known = repositories.listing(db)
    for row in scene.until_stopped(known):
        if not runners.folder(scene.root, row.runner).exists():
            continue
        with notes.apart(None, f"repository {row.name}: "):
            for folder in intake.abandoned(runners.open_repository(scene.root, row.runner)):
                if not scene.dry_run:
                    shutil.rmtree(folder, ignore_errors=True)
                notes.did(None, "scraps_removed", f"{folder} was left by a process that died; nothing in it counts")


def _of_attempts(scene: Scene, notes: Notes) -> None:
    for owner in _ended(scene):
        with notes.apart(owner.task_id):
            if not scene.dry_run:
                reach("scraps_found")
                folders.clear(scene, owner)
            folder = folders.place(scene, owner)
            notes.did(owner.task_id, "scraps_removed", f"{folder} held what its attempt needed only while it ran")


def _ended(scene: Scene) -> Iterator[Owner]:
    found = (each for each in inventory.attempts(scene.root) if each.id and scraps(each.path))
    for page in scene.until_stopped(iter(lambda: list(islice(found, _AT_ONCE)), [])):
        with scene.database.connection() as db:
            owners = recoveries.owners(db, [each.id for each in page if each.id])
        yield from (owner for owner in owners if owner.ended and owner.id not in scene.settled)
