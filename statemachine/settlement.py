"""How an attempt ends, and where its task goes: two precedences, first row that applies."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from statemachine.attempts import ACTIVE, AttemptKind, AttemptState, StopReason
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent

A, E, R = AttemptState, TaskEvent, StopReason

LOSSES_ALLOWED: Final = 3


class Isolation(StrEnum):
    """Name what the layer around the agent saw go wrong, whatever the agent itself said."""

    timeout = "timeout"
    output_limit = "output_limit"
    capture_failed = "capture_failed"
    disk_full = "disk_full"
    memory_limit = "memory_limit"
    process_limit = "process_limit"


class Outcome(StrEnum):
    """Say what was recorded of work that was judged."""

    committed = "committed"
    unchanged = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndFacts:
    """Say what the rows know when an attempt is about to end.

    `current` flags compare what the attempt was admitted with to what holds now. `isolation_first`:
    the failure was stored before any stop was. `outcome` is None where nothing was judged and recorded;
    `failure` names a cause of its own (a launch that failed, a check). `recovered` is recovery without
    an equal result file: nothing the dead worker saw may count.
    """

    state: AttemptState
    reason: StopReason | None
    context_current: bool
    policy_current: bool
    isolation: Isolation | None = None
    isolation_first: bool = False
    exit_code: int | None = None
    outcome: Outcome | None = None
    oversized: bool = False
    failure: str = ""
    recovered: bool = False


def attempt_end(f: EndFacts) -> tuple[AttemptState, str]:
    """Say how the attempt ends and the word for why; refuse one that ended before, or a result that cannot be."""
    if f.state not in ACTIVE:
        raise Refusal("attempt_ended", f"the attempt already ended as {f.state}", state=f.state.value)
    if f.state is A.pending and f.outcome is not None:
        raise Refusal("attempt_not_started", "the attempt never started its agent, so it has no result to record")
    return _stopped(f) or _outdated(f) or _isolated(f) or _completed(f) or _failed(f)


def _stopped(f: EndFacts) -> tuple[AttemptState, str] | None:
    match f.reason:
        case None:
            return None
        case R.user | R.time_limit:
            return A.cancelled, f.reason.value
        case R.shutdown if f.isolation and f.isolation_first:
            return A.failed, f.isolation.value
        case R.shutdown:
            return A.stopped, f.reason.value
        case R.stale:
            return A.stale, f.reason.value


def _outdated(f: EndFacts) -> tuple[AttemptState, str] | None:
    if not f.context_current:
        return A.stale, "context_moved"
    return None if f.policy_current else (A.stale, "policy_moved")


def _isolated(f: EndFacts) -> tuple[AttemptState, str] | None:
    return (A.failed, f.isolation.value) if f.isolation else None


def _completed(f: EndFacts) -> tuple[AttemptState, str] | None:
    spoiled = f.oversized or f.recovered or bool(f.failure)
    return None if spoiled or f.exit_code != 0 or f.outcome is None else (A.completed, f.outcome.value)


def _failed(f: EndFacts) -> tuple[AttemptState, str]:
    if f.recovered:
        return A.interrupted, "worker_lost"
    if f.oversized:
        return A.failed, "result_too_large"
    return A.failed, f.failure or _exit(f)


def _exit(f: EndFacts) -> str:
    if f.state is A.pending:
        return "not_started"
    return "not_recorded" if f.exit_code == 0 else "exit"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFacts:
    """Say what the task's row knows once its attempt has an end; `ended` is None between items.

    `finding` is one stored now or still owed; `reason` the task's `stop_reason`; `retry_left` counts
    the attempt that just failed.
    """

    ended: AttemptState | None
    kind: AttemptKind | None
    cancel_requested: bool
    finding: bool
    reason: StopReason | None
    retry_left: bool
    out_of_scope: bool = False
    draining: bool = False
    recovering: bool = False


def task_move(f: MoveFacts) -> TaskEvent:  # noqa: PLR0911 - one return for each row of the table
    """Say which one event the task gets."""
    if f.cancel_requested:
        return E.cancel
    if f.finding:
        return E.raise_finding
    if f.out_of_scope:
        return E.pause
    if f.reason is R.time_limit:
        return E.hit_limit
    if f.reason is R.user:
        return E.halt
    if _spent(f):
        return E.give_up
    return _onward(f)


def _onward(f: MoveFacts) -> TaskEvent:
    if f.draining:
        return E.release
    if f.recovering:
        return E.requeue
    if f.ended in {A.completed, A.stale, A.failed}:
        return E.settle
    raise Refusal(
        "nothing_to_settle",
        f"nothing is to be settled: the attempt's end is {f.ended or 'not recorded'}, its worker goes on",
        ended=f.ended,
    )


def _spent(f: MoveFacts) -> bool:
    return f.ended is A.failed and f.kind is not AttemptKind.review and not f.retry_left


def stores_pause(f: MoveFacts) -> bool:
    """Tell whether the scope pause is stored: always with an out-of-scope commit, unless the task closes."""
    return f.out_of_scope and not f.cancel_requested


def retry_left(*, failures: int, retries: int) -> bool:
    """Tell whether work that failed this often since a person last looked may run again by itself."""
    return failures <= retries


def uses_retry(end: AttemptState) -> bool:
    """Tell whether an end counts against the retries: a failure, whatever its cause, and nothing else."""
    return end is A.failed


def crash_loop(*, losses: int, allowed: int = LOSSES_ALLOWED) -> bool:
    """Tell whether workers were lost often enough in a row, without new work, that a person must look."""
    return losses >= allowed
