"""What lies in the root and belongs to no row: named, with the command a person could type, and never touched."""

import shlex
from collections.abc import Callable, Iterator
from itertools import islice
from uuid import UUID

from recovery.reports import Notes
from recovery.scene import Scene
from store import allocations, recoveries, repositories
from store.engine import Connection
from workspace.places import inventory
from workspace.places.inventory import Stored

_AT_ONCE = 500


def name_unknown(scene: Scene, notes: Notes) -> None:
    """Compare the folders of the root with the rows, so many at a time; only a whole pass does."""
    if scene.brief:
        return
    for found, known in (
        (inventory.workspaces(scene.root), allocations.known),
        (inventory.attempts(scene.root), _attempts),
        (inventory.runners(scene.root), _repositories),
    ):
        for each in _unknown(scene, found, known):
            why = each.strange or "no row of this database is about it"
            by_hand = shlex.join(["rm", "-r", "--", str(each.path)])
            notes.met("unknown_storage", f"{each.path} is left alone: {why}", by_hand=f"if nobody needs it: {by_hand}")


def _unknown(
    scene: Scene, found: Iterator[Stored], known: Callable[[Connection, list[UUID]], set[UUID]]
) -> Iterator[Stored]:
    for page in scene.until_stopped(iter(lambda: list(islice(found, _AT_ONCE)), [])):
        with scene.database.connection() as db:
            ours = known(db, [each.id for each in page if each.id])
        yield from (each for each in page if each.strange or each.id not in ours)


def _attempts(db: Connection, ids: list[UUID]) -> set[UUID]:
    return {owner.id for owner in recoveries.owners(db, ids)}


def _repositories(db: Connection, _: list[UUID]) -> set[UUID]:
    return {row.runner for row in repositories.listing(db)}
