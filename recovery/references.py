"""Refs that are behind, ahead or left over: copies of the rows, repaired from them."""

from uuid import UUID

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.refusals import Refusal
from store import publications, recoveries, repositories
from store.repositories import Repository
from workspace import refs
from workspace import repositories as runners
from workspace.publications import publish
from workspace.repositories import RunnerRepository


def repair_refs(scene: Scene, notes: Notes) -> None:
    """Compare the refs of every runner repository of this root with the rows, and repair what differs."""
    with scene.database.connection() as db:
        known = repositories.listing(db)
    for repository in known:
        try:
            _repair(scene, notes, repository)
        except Refusal as refused:
            notes.left(None, refused.code, f"{repository.name}: {refused.message}")


def _repair(scene: Scene, notes: Notes, repository: Repository) -> None:
    runner = runners.open_repository(scene.root, repository.runner)
    there = refs.listing(runner, refs.PREFIX)
    for task in sorted(_behind(scene, repository, there) | _settled(scene, notes, there)):
        try:
            moved = _publish(scene, runner, task) if not notes.dry_run else []
        except Refusal as refused:
            notes.left(task, refused.code, refused.message)
        else:
            notes.did(task, "refs_repaired", ", ".join(moved))


def _behind(scene: Scene, repository: Repository, there: dict[str, str]) -> set[int]:
    with scene.database.connection() as db:
        heads = recoveries.heads(db, repository.id)
    return {
        row.id
        for row in heads
        if (there.get(refs.task_ref(row.id)), there.get(refs.base_ref(row.id))) != (row.head, row.base)
    }


def _settled(scene: Scene, notes: Notes, there: dict[str, str]) -> set[int]:
    """Find tasks with attempts that ended and still have a ref; a ref that belongs to no row is only named."""
    prefix = refs.attempt_ref(UUID(int=0)).removesuffix(str(UUID(int=0)))
    found = {UUID(ref.removeprefix(prefix)) for ref in there if ref.startswith(prefix)}
    with scene.database.connection() as db:
        owners = {owner.id: owner for owner in recoveries.owners(db, sorted(found))}
    for attempt in sorted(found - set(owners)):
        notes.did(None, "unknown_ref", f"{refs.attempt_ref(attempt)} belongs to no attempt and is left alone")
    return {owner.task_id for owner in owners.values() if owner.ended}


def _publish(scene: Scene, runner: RunnerRepository, task: int) -> list[str]:
    with scene.database.connection() as db:
        asked = publications.of_task(db, task)
    return publish(runner, task, base=asked.base, head=asked.head, discarded=asked.discarded, settled=asked.settled)
