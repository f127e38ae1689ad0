"""What must hold before approved work is merged: in order, each with its code."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from statemachine.conditions import Condition, admit
from statemachine.tasks import MERGEABLE, TaskEvent, TaskState


class Strategy(StrEnum):
    """Name the shape of the commit a merge makes."""

    ff = "ff"
    merge = "merge"
    squash = "squash"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeFacts:
    """Say what is known of the task, its approval and its target.

    `unfinished`, `missing` and `failed` are about exactly this head; `approval_covers` compares head,
    base and target name; `descends` says that the head descends from the target's tip; `dirty`
    that a non-bare target has the branch checked out and its work tree is not clean; `conflicts` are
    the paths in the way of the future tree. `strategy` is None where none was named.
    """

    task: int
    state: TaskState
    owed_findings: tuple[int, ...]
    owed_pauses: int
    submitting: bool
    unfinished: tuple[str, ...]
    missing: tuple[str, ...]
    failed: tuple[str, ...]
    approval_covers: bool
    approver: str
    author: str
    author_may_approve: bool
    target_error: str | None = None
    holds_result: bool = False
    dirty: bool = False
    descends: bool = False
    conflicts: tuple[str, ...] = ()
    strategy: Strategy | None = None


def strategy_of(f: MergeFacts) -> Strategy:
    """Choose the strategy: the one named, else a fast-forward where it can be, else a merge."""
    return f.strategy or (Strategy.ff if f.descends else Strategy.merge)


_OWED: Final[tuple[Condition[MergeFacts], ...]] = (
    Condition("finding_owed", lambda f: not f.owed_findings),
    Condition("pause_owed", lambda f: not f.owed_pauses),
)
_RESULT: Final[tuple[Condition[MergeFacts], ...]] = (
    Condition("items_unfinished", lambda f: not f.unfinished),
    Condition("checks_missing", lambda f: not f.missing),
    Condition("checks_failed", lambda f: not f.failed),
)
_APPROVAL: Final[tuple[Condition[MergeFacts], ...]] = (
    Condition("approval_lapsed", lambda f: f.approval_covers),
    Condition("approver_is_author", lambda f: f.author_may_approve or f.approver != f.author),
)
# A target that already holds the result is not pushed to, so nothing can stand in the way.
_TARGET: Final[tuple[Condition[MergeFacts], ...]] = (
    Condition("target_unreadable", lambda f: f.target_error is None),
    Condition("target_checked_out", lambda f: f.holds_result or not f.dirty),
    Condition("merge_conflict", lambda f: f.holds_result or not f.conflicts),
    Condition("not_fast_forward", lambda f: f.holds_result or f.descends or f.strategy is not Strategy.ff),
)

MERGE: Final[tuple[Condition[MergeFacts], ...]] = (
    Condition("not_mergeable", lambda f: f.state in {*MERGEABLE, TaskState.merging}),
    *_OWED,
    Condition("merge_in_flight", lambda f: f.state in MERGEABLE and not f.submitting),
    *_RESULT,
    *_APPROVAL,
    *_TARGET,
)
LAST_LOOK: Final[tuple[Condition[MergeFacts], ...]] = (
    Condition("not_merging", lambda f: f.state is TaskState.merging and f.submitting),
    *_OWED,
    *_APPROVAL,
    *_TARGET,
)


def merge(f: MergeFacts) -> None:
    """Refuse to begin a merge."""
    admit(MERGE, f)


def last_look(f: MergeFacts) -> None:
    """Refuse to push what a merge had begun, because something moved since."""
    admit(LAST_LOOK, f)


def merge_event(f: MergeFacts) -> TaskEvent:
    """Name the move an admitted merge makes: a target that already holds the result needs no push."""
    return TaskEvent.confirm_merge if f.holds_result else TaskEvent.begin_merge
