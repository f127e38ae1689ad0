"""Make the refs of a task what its rows say: forwards or backwards, always by compare-and-swap."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from statemachine.failpoints import reach
from statemachine.refusals import Refusal
from workspace.repository import refs, repositories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workspace.repository.repositories import RunnerRepository


def _open() -> None:
    """Let everything through."""


def publish(
    repo: RunnerRepository,
    task: int,
    *,
    base: str,
    head: str,
    discarded: Mapping[str, str],
    settled: Iterable[UUID],
    there: Mapping[str, str] | None = None,
    fence: Callable[[], None] = _open,
) -> list[str]:
    """Move a task's refs to what its rows ask for and say which were moved; safe to repeat, and from many places.

    Discarded commits get their refs first and settled attempts lose theirs last, so that at every instant
    whatever a row names is reachable. Raises `head_missing` where the head's object is not there: a head is
    never rewritten to fit the refs.

    `there` is what `seen` gave before the rows were read, so that whoever is late finds the refs changed and not the
    rows old; `fence` is asked last, before each ref is moved, and raises where it may not be.
    """
    there = seen(repo) if there is None else there
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
    served = {ref: there.get(ref) for ref in map(refs.attempt_ref, settled)}
    moved = [ref for ref, commit in wanted.items() if _set(repo, ref, commit, there.get(ref), fence)]
    reach("head_published")
    return moved + [ref for ref, now in served.items() if _drop(repo, ref, now, fence)]


def seen(repo: RunnerRepository) -> dict[str, str]:
    """List every ref of ours as it is now."""
    return refs.listing(repo, refs.PREFIX)


def _set(repo: RunnerRepository, ref: str, commit: str, now: str | None, fence: Callable[[], None]) -> bool:
    if now == commit:
        return False
    fence()
    refs.update(repo, ref, new=commit, old=now)
    return True


def _drop(repo: RunnerRepository, ref: str, now: str | None, fence: Callable[[], None]) -> bool:
    if now is None:
        return False
    fence()
    refs.delete(repo, ref, old=now)
    return True
