"""Findings: recorded whatever the task is doing, decided once by a named person."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, Self, TypeVar
from uuid import UUID

from statemachine.attempts import StopReason
from statemachine.decisions import Facts
from statemachine.findings import PERMITTABLE, FindingKind, FindingState, fingerprint
from statemachine.gates import GateKind, GateState
from statemachine.refusals import LostRace, NotFound, Refusal
from statemachine.tasks import CLOSED, TaskEvent, TaskState
from statemachine.texts import clean
from store import attempts, claims, tasks
from store.engine import Connection
from store.gates import close, open_gate
from store.rows import document, many, one, said
from store.tasks import Question, Task

SUMMARY_LIMIT = 4_000
_BATCH = 250

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One row of `finding`: what was seen, and what a person decided."""

    id: int
    task_id: int
    attempt_id: UUID | None
    item_id: str | None
    kind: FindingKind
    summary: str
    evidence: dict[str, Any]
    fingerprint: str
    late: bool
    recorded_by: str
    recorded_at: datetime
    state: FindingState
    permit: bool
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None


class Seen(Protocol):
    """Be something a judgement owes: what screening calls a violation."""

    @property
    def kind(self) -> FindingKind:
        """What kind of thing."""

    @property
    def summary(self) -> str:
        """One sentence."""

    @property
    def fingerprint(self) -> str:
        """The name that seeing it again gives again."""

    @property
    def evidence(self) -> Mapping[str, object]:
        """What can be stored of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFinding:
    """What was seen, before it is a row."""

    kind: FindingKind
    summary: str
    fingerprint: str
    evidence: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, seen: Seen) -> Self:
        """Take over what a judgement owes."""
        return cls(kind=seen.kind, summary=seen.summary, fingerprint=seen.fingerprint, evidence=dict(seen.evidence))

    @classmethod
    def seen(
        cls,
        kind: FindingKind,
        summary: str,
        *,
        item: str | None,
        paths: Iterable[str] = (),
        evidence: dict[str, Any] | None = None,
    ) -> Self:
        """Name what was seen so that seeing it again gives the same name."""
        return cls(kind=kind, summary=summary, fingerprint=fingerprint(kind, item, paths), evidence=evidence or {})

    @classmethod
    def refused(cls, kind: FindingKind, refusal: Refusal, *, item: str | None) -> Self:
        """Turn what could not be done for a reason into something a person looks at."""
        facts = {name: str(fact) for name, fact in refusal.facts.items()}
        return cls.seen(kind, refusal.message, item=item, evidence={**facts, "code": refusal.code})


def record(
    db: Connection,
    task: int,
    found: Iterable[NewFinding],
    *,
    actor: str,
    attempt: UUID | None = None,
    item: str | None = None,
) -> Task:
    """Record findings on a task in whatever state it is; never refused, in one transaction with what follows.

    The row is locked and read before anything is chosen: a waiting, queued, mergeable or idle running task
    goes to its finding gate; a running attempt is asked to stop and settlement moves the task; a merge looks
    once more before it pushes; a closed task keeps the finding as `late`.
    """
    new = tuple(found)
    row = tasks.lock(db, task)
    if not new:
        return row
    row = _prepare(db, row, new, actor=actor)
    insert(db, row, new, actor=actor, attempt=attempt, item=item)
    return tasks.get(db, task)


def insert(
    db: Connection, task: Task, found: Iterable[NewFinding], *, actor: str, attempt: UUID | None, item: str | None
) -> list[Finding]:
    """Write finding rows for a task that is already where it may owe them; one that is open already is the same one."""
    rows = [
        {
            "kind": finding.kind.value,
            "summary": clean(finding.summary, SUMMARY_LIMIT) or finding.kind.value,
            "evidence": finding.evidence,
            "fingerprint": finding.fingerprint,
        }
        for finding in found
    ]
    said_of_all = {"task": task.id, "attempt": attempt, "item": item, "late": task.state in CLOSED, "actor": actor}
    return [
        row
        for batch in _batches(rows)
        for row in many(db, Finding, "add_findings", **said_of_all, found=document(batch))
    ]


def decide(
    db: Connection, finding: int, *, state: FindingState, actor: str, reason: str, permit: bool = False
) -> Finding:
    """Decide one open finding; `permit` lets the same thing pass on the same item and declared files.

    Raises `not_permittable` for kinds nobody may wave through and `stale_view` where it was decided before.
    Every decision is a new version of the task, so that whoever looked before it hears `stale_view`.
    """
    return decide_all(db, [get(db, finding)], state=state, actor=actor, reason=reason, permit=permit)[0]


def decide_all(
    db: Connection, chosen: Sequence[Finding], *, state: FindingState, actor: str, reason: str, permit: bool = False
) -> list[Finding]:
    """Decide findings of one task alike, each as `decide` does: all of them or none."""
    forbidden = next((row for row in chosen if permit and row.kind not in PERMITTABLE), None)
    if forbidden:
        raise Refusal(
            "not_permittable",
            f"a {forbidden.kind} can be dismissed, but not permitted in advance",
            hint=f"tasks finding dismiss {forbidden.id} --reason TEXT",
            finding=forbidden.id,
        )
    for task in {row.task_id for row in chosen}:
        tasks.touch(db, task)
    ids = [row.id for row in chosen]
    answer = {"state": state, "permit": permit, "actor": actor, "reason": said(reason)}
    decided = [row for batch in _batches(ids) for row in many(db, Finding, "decide_findings", findings=batch, **answer)]
    late = sorted(set(ids) - {row.id for row in decided})
    if late:
        raise LostRace("stale_view", f"finding {late[0]} was decided already", hint=f"tasks finding show {late[0]}")
    return decided


def get(db: Connection, finding: int) -> Finding:
    """Read one finding."""
    found = one(db, Finding, "get_finding", finding=finding)
    if found is None:
        raise NotFound("finding_not_found", f"there is no finding {finding}", hint="tasks finding list")
    return found


def listing(
    db: Connection, *, task: int | None = None, state: FindingState | None = None, limit: int | None = 500
) -> list[Finding]:
    """List findings, late ones and owed ones first; without a limit, all of them."""
    return many(db, Finding, "list_findings", task=task, state=state, limit=limit)


def owed(db: Connection, task: int) -> list[Finding]:
    """List every finding a task owes: one left out could never be decided, and its gate never pass."""
    return listing(db, task=task, state=FindingState.open, limit=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Permit:
    fingerprint: str


def permits(db: Connection, *, task: int, item: str, revision: int) -> frozenset[str]:
    """List the fingerprints a person permitted for this item with these declared files."""
    rows = many(db, _Permit, "list_permits", task=task, item=item, revision=revision)
    return frozenset(row.fingerprint for row in rows)


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Cut what may be thousands of rows so that no statement, with what its triggers count, takes long."""
    return (rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH))


def _prepare(db: Connection, task: Task, new: tuple[NewFinding, ...], *, actor: str) -> Task:
    """Bring a task to where it may owe a finding."""
    if task.state in CLOSED or task.state is TaskState.merging:
        return tasks.touch(db, task.id)
    # A cancellation that waits for the next step is not undone by a finding: it closes the task, which keeps both.
    if task.state is TaskState.running and (task.cancel_requested or attempts.active(db, task.id)):
        return claims.request_stop(db, task=task.id, why=StopReason.user, actor=actor) or task
    gate = open_gate(db, task)
    if gate and gate.kind is GateKind.finding:
        return tasks.touch(db, task.id)
    if gate:
        close(db, gate, GateState.superseded, actor=actor, comment="a finding was recorded")
    return tasks.move(
        db,
        task,
        TaskEvent.raise_finding,
        actor=actor,
        facts=Facts(
            task=task.id, owed_findings=len(new), owed_pauses=task.owed_pauses, gate=gate.kind if gate else None
        ),
        question=Question(reason="; ".join(finding.summary for finding in new)),
    )
