"""What must hold before work is claimed, goes on, is launched or is tried again: in order, each with its code.

Nothing here writes. The facts are read under the task's row lock; every function answers with silence
or raises the refusal of the first condition that does not hold. Merging has its own page, `landings`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.conditions import Condition, admit
from statemachine.refusals import LostRace, Refusal
from statemachine.tasks import TaskState

A, S = AttemptState, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFacts:
    """Say what the task's next work asks for and what this worker serves; no budget is None."""

    task: int
    state: TaskState
    available: bool
    kind: AttemptKind
    executor: str
    kinds: frozenset[AttemptKind]
    executors: frozenset[str]
    budget_left: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOnFacts:
    """Say what the worker expects between two items, and what it finds."""

    task: int
    state: TaskState
    revision_expected: int
    revision: int
    context_expected: int
    context: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """Say what holds at the last moment before the agent starts; `workspace` is its second verdict."""

    task: int
    attempt: AttemptState
    reason: StopReason | None
    owed_findings: tuple[int, ...]
    owed_pauses: int
    context_current: bool
    policy_current: bool
    budget_left: timedelta | None
    workspace: Refusal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryFacts:
    """Say what a person who asks for a retry saw; `budget_left` is with the budget given, `attempt` the one named."""

    task: int
    state: TaskState
    owed_findings: tuple[int, ...]
    owed_pauses: int
    budget_left: timedelta | None
    version: int
    version_seen: int | None = None
    attempt: AttemptState | None = None


def _left(budget: timedelta | None) -> bool:
    return budget is None or budget > timedelta(0)


CLAIM: Final[tuple[Condition[ClaimFacts], ...]] = (
    Condition("not_queued", lambda f: f.state is S.queued),
    Condition("not_yet_available", lambda f: f.available),
    Condition("kind_not_served", lambda f: f.kind in f.kinds),
    Condition("executor_not_served", lambda f: f.executor in f.executors),
    Condition("budget_spent", lambda f: _left(f.budget_left)),
)

GO_ON: Final[tuple[Condition[GoOnFacts], ...]] = (
    Condition("not_running", lambda f: f.state is S.running),
    Condition("revision_moved", lambda f: f.revision == f.revision_expected),
    Condition("context_moved", lambda f: f.context == f.context_expected),
)

LAUNCH: Final[tuple[Condition[LaunchFacts], ...]] = (
    Condition("attempt_not_pending", lambda f: f.attempt is A.pending),
    Condition("stop_requested", lambda f: f.reason is None),
    Condition("finding_owed", lambda f: not f.owed_findings),
    Condition("pause_owed", lambda f: not f.owed_pauses),
    Condition("context_moved", lambda f: f.context_current),
    Condition("policy_moved", lambda f: f.policy_current),
    Condition("budget_spent", lambda f: _left(f.budget_left)),
)

RETRY: Final[tuple[Condition[RetryFacts], ...]] = (
    Condition("not_at_gate", lambda f: f.state is S.needs_human),
    Condition("finding_owed", lambda f: not f.owed_findings),
    Condition("pause_owed", lambda f: not f.owed_pauses),
    Condition("budget_spent", lambda f: _left(f.budget_left)),
    Condition("stale_view", lambda f: f.version_seen in {None, f.version}, LostRace),
    Condition("not_retryable", lambda f: f.attempt not in {A.stale, A.completed}),
)


def claim(f: ClaimFacts) -> None:
    """Refuse to lease a task to this worker; the one condition with an effect is `budget_spent`: `hit_limit`."""
    admit(CLAIM, f)


def go_on(f: GoOnFacts) -> None:
    """Refuse to start the next item from what was read before the last one ended."""
    admit(GO_ON, f)


def launch(f: LaunchFacts) -> None:
    """Refuse to start the agent; the workspace's own refusal comes last and as it is."""
    admit(LAUNCH, f)
    if f.workspace is not None:
        raise f.workspace


def retry(f: RetryFacts) -> None:
    """Refuse to queue a task again at a person's word."""
    admit(RETRY, f)
