"""Make the refs of a task what its rows say: forwards or backwards, always by compare-and-swap."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from statemachine.refusals import Refusal
from workspace.repository import refs, repositories

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workspace.repository.repositories import RunnerRepository


def publish(
    repo: RunnerRepository,
    task: int,
    *,
    base: str,
    head: str,
    discarded: Mapping[str, str],
    settled: Iterable[UUID],
) -> list[str]:
    """Move a task's refs to what its rows ask for and say which were moved; safe to repeat, and from many places.

    Discarded commits get their refs first and settled attempts lose theirs last, so that at every instant
    whatever a row names is reachable. Raises `head_missing` where the head's object is not there: a head is
    never rewritten to fit the refs.
    """
    there = refs.listing(repo, refs.PREFIX)
    if not repositories.contains(repo, head):
        raise Refusal(
            "head_missing",
            f"the runner repository lacks {head}, the head of task {task}",
            hint="restore the runner repository from a backup, then run `tasks recover`",
            task=task,
            head=head,
        )
    wanted = {refs.discarded_ref(UUID(attempt)): commit for attempt, commit in discarded.items()}
    wanted |= {refs.base_ref(task): base, refs.task_ref(task): head}
    moved = [ref for ref, commit in wanted.items() if _set(repo, ref, commit, there.get(ref))]
    gone = [ref for attempt in settled if _drop(repo, ref := refs.attempt_ref(attempt), there.get(ref))]
    return moved + gone


def _set(repo: RunnerRepository, ref: str, commit: str, now: str | None) -> bool:
    if now == commit:
        return False
    refs.update(repo, ref, new=commit, old=now)
    return True


def _drop(repo: RunnerRepository, ref: str, now: str | None) -> bool:
    if now is None:
        return False
    refs.delete(repo, ref, old=now)
    return True
