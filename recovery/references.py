"""Refs that are behind, ahead or left over: copies of the rows, repaired from them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
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
_AT_ONCE: Final = 500
_LOST: Final = "restore the runner repository from a backup: a head is never rewritten to fit what is there"


def repair_refs(scene: Scene, notes: Notes) -> None:
    """Compare the refs of every runner repository of this root with the rows, and repair what differs.

    An attempt's ref is dropped last of all, so it tells where publishing was cut short; a brief pass looks at no
    others.
    """
    with scene.database.connection() as db:
        known = repositories.listing(db)
    for repository in scene.until_stopped(known):
        with notes.apart(None, f"{repository.name}: "):
            _repair(scene, notes, repository)


def _repair(scene: Scene, notes: Notes, repository: Repository) -> None:
    try:
        runner = runners.open_repository(scene.root, repository.runner)
    except NotFound:
        if _page(scene, repository, after=0):
            raise
        return
    served = _served(scene, notes, runner)
    for page in () if scene.brief else scene.until_stopped(_heads(scene, repository)):
        wrong = _differing(notes, runner, page, served | scene.advanced)
        served -= {row.id for row in page}
        _put_right(scene, notes, runner, wrong)
    _put_right(scene, notes, runner, served)


def _heads(scene: Scene, repository: Repository) -> Iterator[list[Head]]:
    after = 0
    while page := _page(scene, repository, after=after):
        yield page
        after = page[-1].id


def _page(scene: Scene, repository: Repository, *, after: int) -> list[Head]:
    with scene.database.connection() as db:
        return recoveries.heads(db, repository.id, after=after, limit=_AT_ONCE)


def _put_right(scene: Scene, notes: Notes, runner: RunnerRepository, wrong: set[int]) -> None:
    for task in sorted(wrong):
        with notes.apart(task):
            moved = _would_move(scene, runner, task) if scene.dry_run else _publish(scene, runner, task)
            if moved:
                again = f"refs of task {task} are what its rows say again: {', '.join(moved)}"
                notes.did(task, "refs_repaired", again)


def _differing(notes: Notes, runner: RunnerRepository, page: Sequence[Head], served: set[int]) -> set[int]:
    names = [name(row.id) for row in page for name in (refs.task_ref, refs.base_ref)]
    there = refs.listing(runner, *names)
    wrong = {row.id for row in page if row.id in served or _differs(row, there)}
    return wrong - _lost(notes, runner, page)


def _lost(notes: Notes, runner: RunnerRepository, page: Sequence[Head]) -> set[int]:
    """Find tasks whose commits are not here; their refs are left as they are."""
    wanted = sorted({commit for row in page for commit in (row.head, row.base)})
    missing = set(wanted) - runners.present(runner, wanted)
    lost = [row for row in page if {row.head, row.base} & missing]
    for row in lost:
        what = "head" if row.head in missing else "base"
        commit = row.head if row.head in missing else row.base
        lacks = f"task {row.id}: {runner.path} lacks {commit}, its {what}"
        notes.left(row.id, f"{what}_missing", lacks, hint=_LOST)
    return {row.id for row in lost}


def _differs(row: Head, there: Mapping[str, str]) -> bool:
    return (there.get(refs.task_ref(row.id)), there.get(refs.base_ref(row.id))) != (row.head, row.base)


def _served(scene: Scene, notes: Notes, runner: RunnerRepository) -> set[int]:
    """Find tasks with attempts whose refs have served; name the refs that belong to no attempt."""
    served: set[int] = set()
    named = _of_attempts(runner, brief=scene.brief)
    for found in iter(lambda: dict(islice(named, _AT_ONCE)), {}):
        owners = _owners(scene, [attempt for attempt in found.values() if attempt])
        for ref, attempt in found.items():
            owner = owners.get(attempt) if attempt else None
            if owner is None:
                by_hand = f"git --git-dir={runner.path} update-ref -d {ref}"
                notes.met("unknown_ref", f"{ref} is left alone: it belongs to no attempt", by_hand=by_hand)
            elif ref == refs.attempt_ref(owner.id) and (owner.ended or owner.id in scene.settled):
                served.add(owner.task_id)
    return served


def _owners(scene: Scene, attempts: Sequence[UUID]) -> dict[UUID, Owner]:
    with scene.database.connection() as db:
        return {owner.id: owner for owner in recoveries.owners(db, attempts)}


def _of_attempts(runner: RunnerRepository, *, brief: bool) -> Iterator[tuple[str, UUID | None]]:
    """List the refs that are named after attempts with the attempt; with none where no attempt has such a name."""
    for name in (refs.attempt_ref,) if brief else (refs.attempt_ref, refs.discarded_ref, refs.partial_ref):
        folder = name(_NOBODY).removesuffix(str(_NOBODY))
        for ref in sorted(refs.listing(runner, folder)):
            attempt = _uuid(ref.removeprefix(folder))
            yield ref, attempt if attempt and name(attempt) == ref else None


def _uuid(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text)
    return None


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
    wanted = {refs.discarded_ref(UUID(attempt)): commit for attempt, commit in asked.discarded.items()}
    wanted |= {refs.base_ref(task): asked.base, refs.task_ref(task): asked.head}
    soon = [refs.attempt_ref(attempt) for attempt, owner in scene.settled.items() if owner == task]
    gone = [*map(refs.attempt_ref, asked.settled), *soon]
    there = refs.listing(runner, *wanted, *gone)
    ahead = {refs.task_ref(task), *soon} if task in scene.advanced else set()
    moved = [ref for ref, commit in wanted.items() if there.get(ref) != commit or ref in ahead]
    return moved + [ref for ref in gone if ref in there or ref in ahead]


def _asked(scene: Scene, task: int) -> Publication:
    with scene.database.connection() as db:
        return publications.of_task(db, task)
