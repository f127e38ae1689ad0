"""What comes next while a task runs and no attempt is active."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statemachine.attempts import AttemptKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NextItem:
    """Describe the first item without a live ledger row; `asks` until an approval row covers it."""

    id: str
    kind: AttemptKind
    asks: bool = False
    retry_left: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """Say what the rows know between two items, read anew and never carried over.

    `stop` is a recorded stop of the task, `plan_asks` holds until an approval row covers the plan's revision.
    `passed` and `failed` are the checks whose latest result is on exactly this head; `check_retry_left`
    counts the failures on it.
    """

    budget_spent: bool
    cancel_requested: bool = False
    stop: bool = False
    plan_asks: bool = False
    item: NextItem | None = None
    checks: tuple[str, ...] = ()
    passed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    check_retry_left: bool = True


@dataclass(frozen=True, slots=True)
class Cancel:
    """Close the task: somebody asked for it while an attempt was active."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Wait at a failure gate: a person stopped the task."""


@dataclass(frozen=True, slots=True)
class HitLimit:
    """Wait at a limit gate: the budget is spent."""


@dataclass(frozen=True, slots=True)
class AwaitApproval:
    """Wait at an approval gate, for the plan or for one item."""

    item: str | None


@dataclass(frozen=True, slots=True)
class RunItem:
    """Run one item."""

    item: str
    kind: AttemptKind


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Run these checks on the head."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Wait at a failure gate: an item, or a check where it is None, failed past its retries."""

    item: str | None


@dataclass(frozen=True, slots=True)
class Submit:
    """Wait for review: nothing is left to run."""


Step = Cancel | Halt | HitLimit | AwaitApproval | RunItem | RunChecks | GiveUp | Submit


def next_step(f: StepFacts) -> Step:
    """Name the one thing to do next."""
    return next((step for step in (ask(f) for ask in ORDER) if step), Submit())


def _cancelled(f: StepFacts) -> Step | None:
    return Cancel() if f.cancel_requested else None


def _stopped(f: StepFacts) -> Step | None:
    return Halt() if f.stop else None


def _spent(f: StepFacts) -> Step | None:
    return HitLimit() if f.budget_spent else None


def _asking(f: StepFacts) -> Step | None:
    if f.plan_asks:
        return AwaitApproval(None)
    return AwaitApproval(f.item.id) if f.item and f.item.asks else None


def _item(f: StepFacts) -> Step | None:
    if f.item is None:
        return None
    return RunItem(f.item.id, f.item.kind) if f.item.retry_left else GiveUp(f.item.id)


def _checks(f: StepFacts) -> Step | None:
    left = tuple(command for command in f.checks if command not in f.passed)
    if f.failed.intersection(left) and not f.check_retry_left:
        return GiveUp(None)
    return RunChecks(left) if left else None


# First answer counts. `fixed_if` belongs before the item, a review behind the checks.
ORDER: Final[tuple[Callable[[StepFacts], Step | None], ...]] = (
    _cancelled,
    _stopped,
    _spent,
    _asking,
    _item,
    _checks,
)
