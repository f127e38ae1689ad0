"""Queued tasks whose budget is spent: nobody would claim them, so they go to their limit gate."""

from recovery.reports import Notes
from recovery.scene import Scene
from store import claims, recoveries


def spend_out(scene: Scene, notes: Notes) -> None:
    """Put queued tasks without budget at their limit gate."""
    with scene.database.connection() as db:
        for task in recoveries.exhausted(db):
            if not notes.dry_run:
                claims.hit_limit(db, task, actor=scene.actor)
            notes.did(task.id, "hit_limit", "its budget is spent")
