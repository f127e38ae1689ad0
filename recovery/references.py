"""Refs that are behind, ahead or left over: copies of the rows, repaired from them."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final
from uuid import UUID

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.failpoints import reach
from statemachine.refusals import LostRace, NotFound
from store import publications, recoveries, repositories
from store.publications import Publication
from store.recoveries import Head, Owner
from store.repositories import Repository
from workspace.repository import refs
from workspace.repository import repositories as runners
from workspace.repository.publications import publish
from workspace.repository.repositories import RunnerRepository

_NOBODY: Final = UUID(int=0)
_ROUNDS: Final = 5
_LOST: Final = "restore the runner repository from a backup: a head is never rewritten to fit what is there"


def repair_refs(scene: Scene, notes: Notes) -> None:
    """Compare the refs of every runner repository of this root with the rows, and repair what differs."""
    with scene.database.connection() as db:
        known = repositories.listing(db)
    for repository in known:
        with notes.apart(None, f"{repository.name}: "):
            _repair(scene, notes, repository)


def _repair(scene: Scene, notes: Notes, repository: Repository) -> None:
    with scene.database.connection() as db:
        heads = recoveries.heads(db, repository.id)
    try:
        runner = runners.open_repository(scene.root, repository.runner)
    except NotFound:
        if heads:
            raise
        return
    there = refs.listing(runner, refs.PREFIX)
    lost = _lost(notes, runner, heads)
    wrong = {row.id for row in heads if _differs(row, there)} | _served(scene, _owners(scene, notes, runner, there))
    for task in sorted(wrong - lost):
        with notes.apart(task):
            moved = _would_move(scene, runner, task) if scene.dry_run else _publish(scene, runner, task)
            if moved:
                notes.did(task, "refs_repaired", ", ".join(moved))


def _lost(notes: Notes, runner: RunnerRepository, heads: list[Head]) -> set[int]:
    """Find tasks whose commits are not here; their refs are left as they are."""
    wanted = sorted({commit for row in heads for commit in (row.head, row.base)})
    missing = set(wanted) - runners.present(runner, wanted)
    lost = [row for row in heads if {row.head, row.base} & missing]
    for row in lost:
        what = "head" if row.head in missing else "base"
        commit = row.head if row.head in missing else row.base
        notes.left(row.id, f"{what}_missing", f"{runner.path} lacks {commit}, the {what} of task {row.id}; {_LOST}")
    return {row.id for row in lost}


def _differs(row: Head, there: Mapping[str, str]) -> bool:
    return (there.get(refs.task_ref(row.id)), there.get(refs.base_ref(row.id))) != (row.head, row.base)


def _owners(scene: Scene, notes: Notes, runner: RunnerRepository, there: Mapping[str, str]) -> list[Owner]:
    """Find whose the refs of attempts are; one that belongs to no attempt is only named."""
    found = dict(_of_attempts(there))
    with scene.database.connection() as db:
        owners = recoveries.owners(db, sorted({attempt for attempt in found.values() if attempt}))
    known = {owner.id for owner in owners}
    for ref in sorted(ref for ref, attempt in found.items() if attempt not in known):
        by_hand = f"git --git-dir={runner.path} update-ref -d {ref}"
        notes.did(None, "unknown_ref", f"{ref} belongs to no attempt and is left alone; to remove it: {by_hand}")
    holding = {attempt for ref, attempt in found.items() if attempt and ref == refs.attempt_ref(attempt)}
    return [owner for owner in owners if owner.id in holding]


def _of_attempts(there: Mapping[str, str]) -> Iterator[tuple[str, UUID | None]]:
    """List the refs that are named after attempts with the attempt; with none where no attempt has such a name."""
    for name in (refs.attempt_ref, refs.discarded_ref, refs.partial_ref):
        folder = name(_NOBODY).removesuffix(str(_NOBODY))
        for ref in there:
            if ref.startswith(folder):
                attempt = _uuid(ref.removeprefix(folder))
                yield ref, attempt if attempt and name(attempt) == ref else None


def _uuid(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text)
    return None


def _served(scene: Scene, owners: list[Owner]) -> set[int]:
    """Find tasks with attempts whose refs have served: they ended, or in a dry run would have."""
    return {owner.task_id for owner in owners if owner.ended or owner.id in scene.settled}


def _publish(scene: Scene, runner: RunnerRepository, task: int) -> list[str]:
    """Publish until the rows stand still: a worker may settle, and publish what is newer, at the same moment."""
    moved: list[str] = []
    published = None
    for _ in range(_ROUNDS):
        asked = _asked(scene, task)
        if asked == published:
            break
        try:
            moved += publish(
                runner, task, base=asked.base, head=asked.head, discarded=asked.discarded, settled=asked.settled
            )
            published = asked
            reach("refs_repaired")
        except LostRace as race:
            if race.code != "conflict":
                raise
    return list(dict.fromkeys(moved))


def _would_move(scene: Scene, runner: RunnerRepository, task: int) -> list[str]:
    asked = _asked(scene, task)
    there = refs.listing(runner, refs.PREFIX)
    wanted = {refs.discarded_ref(UUID(attempt)): commit for attempt, commit in asked.discarded.items()}
    wanted |= {refs.base_ref(task): asked.base, refs.task_ref(task): asked.head}
    moved = [ref for ref, commit in wanted.items() if there.get(ref) != commit]
    served = [*asked.settled, *(attempt for attempt, owner in scene.settled.items() if owner == task)]
    return moved + [ref for ref in map(refs.attempt_ref, served) if ref in there]


def _asked(scene: Scene, task: int) -> Publication:
    with scene.database.connection() as db:
        return publications.of_task(db, task)
