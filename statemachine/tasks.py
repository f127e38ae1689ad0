"""The life of a task, as one table: event, from, to, who may, which gate it opens, when."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from statemachine.gates import GateKind


class TaskState(StrEnum):
    """Say where a task is."""

    queued = "queued"
    running = "running"
    in_review = "in_review"
    approved = "approved"
    merge_blocked = "merge_blocked"
    merging = "merging"
    needs_human = "needs_human"
    needs_amendment = "needs_amendment"
    needs_approval = "needs_approval"
    possibly_fixed = "possibly_fixed"
    merged = "merged"
    cancelled = "cancelled"


class TaskEvent(StrEnum):
    """Say what happened to a task."""

    add = "add"
    claim = "claim"
    take_over = "take_over"
    settle = "settle"
    release = "release"
    requeue = "requeue"
    await_approval = "await_approval"
    suspect_fixed = "suspect_fixed"
    pause = "pause"
    raise_finding = "raise_finding"
    hit_limit = "hit_limit"
    halt = "halt"
    give_up = "give_up"
    submit = "submit"
    approve_start = "approve_start"
    continue_anyway = "continue_anyway"
    approve_continuation = "approve_continuation"
    discard_item = "discard_item"
    retry = "retry"
    resume_pause = "resume_pause"
    accept_result = "accept_result"
    approve = "approve"
    request_changes = "request_changes"
    amend = "amend"
    recheck = "recheck"
    lapse_approval = "lapse_approval"
    begin_merge = "begin_merge"
    confirm_merge = "confirm_merge"
    fail_merge = "fail_merge"
    cancel = "cancel"


class Who(StrEnum):
    """Name the parts a person or a process may play; the database has a role for each."""

    author = "author"
    reviewer = "reviewer"
    worker = "worker"
    recovery = "recovery"
    merge = "merge"


BEGINNING: Final = ""
Source = TaskState | Literal[""]
E, S, G, W = TaskEvent, TaskState, GateKind, Who

ACTIVE: Final = frozenset({S.queued, S.running})
WAITING: Final = frozenset({S.in_review, S.needs_human, S.needs_amendment, S.needs_approval, S.possibly_fixed})
MERGEABLE: Final = frozenset({S.approved, S.merge_blocked})
CLOSED: Final = frozenset({S.merged, S.cancelled})

# Where a task may be while it owes; running bears a finding only until its attempt settles.
BEARS_FINDING: Final = frozenset({S.needs_human, S.merging, *CLOSED})
BEARS_PAUSE: Final = frozenset({S.needs_amendment, S.needs_human, S.cancelled})


@dataclass(frozen=True, slots=True)
class Rule:
    """Let one event move a task; of several rules for the same event and source the first whose `when` holds counts."""

    event: TaskEvent
    sources: tuple[Source, ...]
    dest: TaskState
    who: tuple[Who, ...]
    gate: GateKind | None = None
    when: str = ""


_UNDECIDED = (S.in_review, S.approved, S.merge_blocked)
_CALM = (S.queued, S.running, *_UNDECIDED, S.needs_amendment, S.needs_approval, S.possibly_fixed)

# fmt: off
RULES: Final[tuple[Rule, ...]] = (
    Rule(E.add, (BEGINNING,), S.queued, (W.author,)),
    Rule(E.claim, (S.queued,), S.running, (W.worker,)),
    Rule(E.take_over, (S.running,), S.running, (W.recovery,)),
    Rule(E.settle, (S.running,), S.running, (W.worker,)),
    Rule(E.release, (S.running,), S.queued, (W.worker,)),
    Rule(E.requeue, (S.running,), S.queued, (W.recovery,)),
    Rule(E.await_approval, (S.running,), S.needs_approval, (W.worker,), G.approval),
    Rule(E.suspect_fixed, (S.running,), S.possibly_fixed, (W.worker,), G.fixed),
    Rule(E.pause, (S.running,), S.needs_amendment, (W.worker, W.recovery), G.scope),
    Rule(E.raise_finding, _CALM, S.needs_human, (W.worker, W.recovery, W.reviewer), G.finding),
    Rule(E.raise_finding, (S.needs_human,), S.needs_human, (W.worker, W.recovery, W.reviewer), G.finding, "other_gate"),
    Rule(E.hit_limit, (S.queued, S.running), S.needs_human, (W.worker, W.recovery), G.limit, "no_finding_owed"),
    Rule(E.halt, (S.running,), S.needs_human, (W.worker, W.recovery), G.failure, "no_finding_owed"),
    Rule(E.give_up, (S.running,), S.needs_human, (W.worker, W.recovery), G.failure, "no_finding_owed"),
    Rule(E.submit, (S.running,), S.in_review, (W.worker,), G.review, "complete"),
    Rule(E.approve_start, (S.needs_approval,), S.queued, (W.reviewer,)),
    Rule(E.continue_anyway, (S.possibly_fixed,), S.queued, (W.reviewer,)),
    Rule(E.approve_continuation, (S.needs_amendment,), S.queued, (W.reviewer,)),
    Rule(E.discard_item, (S.needs_amendment, S.needs_human), S.queued, (W.reviewer,)),
    Rule(E.retry, (S.needs_human,), S.queued, (W.reviewer,)),
    Rule(E.resume_pause, (S.needs_human,), S.needs_amendment, (W.reviewer,), G.scope, "only_pause_owed"),
    Rule(E.accept_result, (S.needs_human,), S.in_review, (W.reviewer,), G.review, "complete"),
    Rule(E.approve, (S.in_review,), S.approved, (W.reviewer,)),
    Rule(E.request_changes, (*_UNDECIDED, S.needs_human), S.queued, (W.reviewer,)),
    Rule(E.amend, (S.queued, *_UNDECIDED), S.queued, (W.author, W.reviewer)),
    Rule(E.recheck, _UNDECIDED, S.queued, (W.reviewer,)),
    Rule(E.lapse_approval, (S.approved, S.merge_blocked), S.in_review, (W.reviewer, W.merge), G.review),
    Rule(E.begin_merge, (S.approved, S.merge_blocked), S.merging, (W.merge,), None, "nothing_owed"),
    Rule(E.confirm_merge, (S.merging, S.approved, S.merge_blocked), S.merged, (W.merge, W.recovery)),
    Rule(E.fail_merge, (S.merging,), S.needs_human, (W.merge, W.recovery), G.finding, "finding_owed"),
    Rule(E.fail_merge, (S.merging,), S.merge_blocked, (W.merge, W.recovery)),
    Rule(E.cancel, (*_CALM, S.needs_human), S.cancelled, (W.author, W.reviewer, W.worker, W.recovery)),
)
# fmt: on


def edges() -> frozenset[tuple[str, str, str, tuple[str, ...]]]:
    """List every edge as (event, source, dest, who), the way the database holds them; '' is the beginning."""
    return frozenset(
        (rule.event.value, str(source), rule.dest.value, tuple(part.value for part in rule.who))
        for rule in RULES
        for source in rule.sources
    )
