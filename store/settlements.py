"""Settle an attempt: decide its end and its task's move from the rows, and write both at once."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from statemachine import reasons
from statemachine.attempts import ACTIVE, AttemptKind, AttemptState, StopReason
from statemachine.decisions import Facts
from statemachine.findings import FindingKind
from statemachine.refusals import LeaseLost
from statemachine.settlement import (
    EndFacts,
    Isolation,
    MoveFacts,
    Outcome,
    attempt_end,
    crash_loop,
    retry_left,
    stores_pause,
    task_move,
    uses_retry,
)
from statemachine.tasks import TaskEvent, TaskState
from statemachine.texts import clean
from store import pauses
from store.attempts import Attempt, Launched
from store.engine import Connection
from store.findings import NewFinding, insert
from store.outputs import NewOutput
from store.rows import one
from store.tasks import Change, Ending, Question, Task, get, lock, move

# A workspace that is gone or not ours stays so: running the agent again would meet the same refusal.
NO_RETRY = frozenset({"workspace_missing", "workspace_mismatch", "workspace_lost", "inventory_incomplete"})
_LONGEST_FAILURE = 4_000
_IN_LEDGER = {Outcome.committed: "commit", Outcome.unchanged: "unchanged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the caller saw of an attempt; what it means is decided here, from the rows.

    `next_kind` is the kind of work that is due if the attempt completes; `files` lie on `host`. `recovering` says
    that a recoverer writes this; `recovered` that nothing the dead worker saw may count.
    """

    task: int
    epoch: int
    attempt: UUID
    exit_code: int | None = None
    isolation: Isolation | None = None
    failure_code: str = ""
    failure: str = ""
    oversized: bool = False
    outcome: Outcome | None = None
    commit: str | None = None
    tree: str = ""
    manifest_digest: str | None = None
    out_of_scope: tuple[dict[str, str], ...] = ()
    findings: tuple[NewFinding, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)
    host: str = ""
    files: tuple[NewOutput, ...] = ()
    next_kind: AttemptKind | None = None
    draining: bool = False
    recovering: bool = False
    recovered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How it ended, the word for why, what the task did, and the task as it now is."""

    attempt_state: AttemptState
    word: str
    event: TaskEvent
    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What the database knows of an attempt, its task and the policy in force."""

    id: int
    state: TaskState
    version: int
    lease_epoch: int
    context: int
    stop_reason: StopReason | None
    stop_by: str | None
    cancel_requested: bool
    owed_findings: int
    owed_pauses: int
    failures: int
    granted: int | None
    losses: int
    head: str
    budget_spent: bool
    attempt_state: AttemptState
    kind: AttemptKind
    item_id: str | None
    first_reason: StopReason | None
    attempt_context: int
    attempt_policy: int
    isolation_failure: str | None
    policy_version: int
    losses_allowed: int
    item_retries: int


def settle(db: Connection, report: Report, *, actor: str, believed: Rows | None = None) -> Settled:
    """End an attempt and move its task: attempt, findings, pause, ledger, head, gate and line, all or nothing.

    Call it inside one transaction; or, with what the launch made the caller believe and nothing to store
    beside the move, on an autocommit connection: then it is one statement, and `stale_view` means read again.
    Raises `LeaseLost` where the lease is not the reporter's and `attempt_ended` where the attempt was
    settled before, which after an ambiguous commit is success.
    """
    rows = believed or read(db, report)
    end, word = attempt_end(_end_facts(rows, report))
    findings = (*report.findings, *_loss(rows, end))
    facts = _move_facts(rows, report, end, owes=bool(findings or rows.owed_findings))
    event = task_move(facts)
    why = _why(rows, report, findings, word, event)
    task = _write(db, rows, report, end=end, word=word, event=event, actor=actor, why=why)
    insert(db, task, findings, actor=actor, attempt=report.attempt, item=rows.item_id)
    if stores_pause(facts):
        pauses.open_pause(
            db, task, attempt=report.attempt, item=rows.item_id, tree=report.tree, paths=report.out_of_scope
        )
    # Findings and pauses are counted on the task's row by their triggers.
    now = get(db, task.id) if findings or stores_pause(facts) else task
    return Settled(attempt_state=end, word=word, event=event, task=now)


def read(db: Connection, report: Report) -> Rows:
    """Read what settlement weighs and hold the task's row; refuse a lease that is somebody else's."""
    lock(db, report.task)
    rows = one(db, Rows, "settlement_facts", task=report.task, attempt=report.attempt)
    if rows is None or (rows.attempt_state in ACTIVE and rows.lease_epoch != report.epoch):
        raise LeaseLost(task=report.task, epoch=report.epoch)
    return rows


def believe(task: Task, attempt: Attempt, launched: Launched, *, retries: int) -> Rows:
    """Say what a launch proved of the task as it was claimed; whatever changed since then raised the version.

    `retries` are those of the item, or of the plan's checks.
    """
    return Rows(
        id=task.id,
        state=TaskState.running,
        version=launched.version,
        lease_epoch=attempt.epoch,
        context=attempt.context,
        stop_reason=None,
        stop_by=None,
        cancel_requested=False,
        owed_findings=0,
        owed_pauses=0,
        failures=task.failures,
        granted=task.retries,
        losses=task.losses,
        head=attempt.base,
        budget_spent=False,
        attempt_state=AttemptState.running,
        kind=attempt.kind,
        item_id=attempt.item_id,
        first_reason=None,
        attempt_context=attempt.context,
        attempt_policy=attempt.policy_version,
        isolation_failure=None,
        policy_version=attempt.policy_version,
        losses_allowed=0,  # whoever settles its own attempt is not lost
        item_retries=retries,
    )


def _write(
    db: Connection, rows: Rows, report: Report, *, end: AttemptState, word: str, event: TaskEvent, actor: str, why: str
) -> Task:
    return move(
        db,
        rows,
        event,
        actor=actor,
        facts=Facts(task=rows.id, owed_findings=int(event is TaskEvent.raise_finding)),
        reason=word,
        question=Question(reason=why),
        change=_change(rows, report, end, event),
        ending=_ending(report, end, word),
        epoch=report.epoch,
        policy=rows.policy_version if end is AttemptState.completed else None,
    )


def _end_facts(rows: Rows, report: Report) -> EndFacts:
    first = Isolation(rows.isolation_failure) if rows.isolation_failure else None
    return EndFacts(
        state=rows.attempt_state,
        reason=_first_reason(rows, report),
        context_current=rows.attempt_context == rows.context,
        policy_current=rows.attempt_policy == rows.policy_version,
        isolation=first or report.isolation,
        isolation_first=first is not None,
        exit_code=report.exit_code,
        outcome=report.outcome,
        oversized=report.oversized,
        failure=report.failure_code,
        recovered=report.recovered,
    )


def _first_reason(rows: Rows, report: Report) -> StopReason | None:
    """Name the first reason to stop; where the launch met a spent budget and nobody recorded it, it is that."""
    never_started = rows.attempt_state is AttemptState.pending and not report.recovering
    return (
        rows.first_reason
        or rows.stop_reason
        or (StopReason.time_limit if never_started and rows.budget_spent else None)
    )


def _move_facts(rows: Rows, report: Report, end: AttemptState, *, owes: bool) -> MoveFacts:
    failures = rows.failures + uses_retry(end)
    retries = rows.item_retries if rows.granted is None else rows.granted
    return MoveFacts(
        ended=end,
        kind=rows.kind,
        cancel_requested=rows.cancel_requested,
        finding=owes,
        reason=_first_reason(rows, report),
        retry_left=retry_left(failures=failures, retries=retries) and report.failure_code not in NO_RETRY,
        out_of_scope=end is AttemptState.completed and bool(report.out_of_scope),
        draining=report.draining,
        recovering=report.recovering,
    )


def _loss(rows: Rows, end: AttemptState) -> tuple[NewFinding, ...]:
    if end is not AttemptState.interrupted or not crash_loop(losses=rows.losses + 1, allowed=rows.losses_allowed):
        return ()
    return (
        NewFinding.seen(
            FindingKind.worker_crash_loop,
            f"{rows.losses + 1} workers in a row were lost with this task and no item was done in between",
            item=rows.item_id,
        ),
    )


def _change(rows: Rows, report: Report, end: AttemptState, event: TaskEvent) -> Change:
    done = end is AttemptState.completed
    committed = done and report.outcome is Outcome.committed
    return Change(
        context=int(committed),
        head=report.commit if committed else None,
        next_kind=report.next_kind if done and event is not TaskEvent.cancel else None,
        failures=0 if done else rows.failures + uses_retry(end),
        losses=0 if done else rows.losses + (end is AttemptState.interrupted),
        retries_set=done,
    )


def _ending(report: Report, end: AttemptState, word: str) -> Ending:
    done = end is AttemptState.completed
    failed = end is AttemptState.failed
    return Ending(
        attempt=report.attempt,
        attempt_state=end,
        first_reason=_reason(word),
        exit_code=report.exit_code,
        isolation_failure=report.isolation,
        failure_code=word if failed else None,
        failure=clean(report.failure, _LONGEST_FAILURE),
        manifest_digest=report.manifest_digest,
        outcome=_IN_LEDGER[report.outcome] if done and report.outcome else None,
        commit=report.commit if done else None,
        evidence=report.evidence,
        host=report.host,
        files=report.files,
    )


def _reason(word: str) -> StopReason | None:
    return next((reason for reason in StopReason if reason == word), None)


def _why(rows: Rows, report: Report, findings: tuple[NewFinding, ...], word: str, event: TaskEvent) -> str:
    """Say why the task comes to a gate, for whoever is to decide there."""
    match event:
        case TaskEvent.raise_finding:
            return "; ".join(finding.summary for finding in findings) or "a finding is owed"
        case TaskEvent.pause:
            return reasons.outside(rows.item_id, [each["path"] for each in report.out_of_scope])
        case TaskEvent.hit_limit:
            return "the budget is spent"
        case TaskEvent.halt:
            return "stopped by a person"
        case _:
            return reasons.failed(
                item=rows.item_id,
                kind=rows.kind,
                word=word,
                exit_code=report.exit_code,
                failure=report.failure,
                failures=rows.failures + 1,
            )
