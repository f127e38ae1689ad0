"""Tasks: their rows, their history, and the one statement that moves them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.decisions import Facts, decide
from statemachine.plans import Plan, plan_to_document
from statemachine.refusals import LeaseLost, LostRace, NotFound
from statemachine.tasks import TaskEvent, TaskState
from statemachine.texts import clean
from store.engine import Connection
from store.outputs import NewOutput, named
from store.plans import item_rows
from store.rows import document, many, one, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One row of `task`: where it is, who holds it, what it owes and what it points at."""

    id: int
    repository_id: int
    title: str
    author: str
    added_at: datetime
    state: TaskState
    seq: int
    version: int
    context: int
    priority: int
    available_at: datetime
    next_kind: AttemptKind
    executor: str
    revision: int
    base: str
    head: str
    target: str
    budget: timedelta | None
    spent: timedelta
    running_since: datetime | None
    failures: int
    retries: int | None
    losses: int
    guidance: str
    lease_worker: int | None
    lease_epoch: int
    lease_expires: datetime | None
    owed_findings: int
    owed_pauses: int
    gate_id: UUID | None
    stop_reason: StopReason | None
    stop_by: str | None
    cancel_requested: bool
    running_epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a task's history."""

    at: datetime
    event: str
    source: str
    dest: str
    actor: str
    role: str
    epoch: int
    attempt_id: UUID | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What else a move changes; nothing named, nothing changed. `context` is added, never set."""

    context: int = 0
    revision: int | None = None
    base: str | None = None
    head: str | None = None
    target: str | None = None
    next_kind: AttemptKind | None = None
    budget: timedelta | None = None
    failures: int | None = None
    losses: int | None = None
    retries: int | None = None
    retries_set: bool = False
    guidance: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a move ends the task's active attempt; without a state it ends none. `files` lie on `host`."""

    attempt: UUID | None = None
    attempt_state: AttemptState | None = None
    first_reason: StopReason | None = None
    exit_code: int | None = None
    isolation_failure: str | None = None
    failure_code: str | None = None
    failure: str = ""
    manifest_digest: str | None = None
    outcome: str | None = None
    commit: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    host: str = ""
    files: tuple[NewOutput, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Why a gate opens and what it is about."""

    reason: str = ""
    subjects: tuple[str, ...] = ()


class Standing(Protocol):
    """Where a caller believes a task is: enough to move it."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def state(self) -> TaskState:
        """Where it is believed to be."""

    @property
    def version(self) -> int:
        """The version seen."""

    @property
    def owed_findings(self) -> int:
        """Findings it owes."""

    @property
    def owed_pauses(self) -> int:
        """Pauses it owes."""

    @property
    def stop_by(self) -> str | None:
        """Who asked its run to stop, if somebody did."""


LONGEST_GUIDANCE = 100_000

UNCHANGED = Change()
NO_ENDING = Ending()
NO_QUESTION = Question()


def add(
    db: Connection,
    *,
    repository: int,
    plan: Plan,
    base: str,
    target: str,
    executor: str,
    actor: str,
    priority: int = 0,
    not_before: datetime | None = None,
) -> Task:
    """Add a task with its first revision; `base` is a full commit id, `target` a branch name."""
    task = one(
        db,
        Task,
        "add_task",
        repository=repository,
        title=said(plan.title),
        actor=actor,
        priority=priority,
        not_before=not_before,
        next_kind=plan.items[0].kind,
        executor=executor,
        base=base,
        target=target,
        budget=plan.budget,
        document=document(plan_to_document(plan)),
        items=document(item_rows(plan)),
    )
    assert task is not None  # noqa: S101 - an INSERT ... RETURNING gives its row or raises
    return task


def get(db: Connection, task: int) -> Task:
    """Read one task."""
    return _found(one(db, Task, "get_task", task=task), task)


def lock(db: Connection, task: int, *, if_version: int | None = None) -> Task:
    """Read one task and hold its row; with `if_version`, refuse what moved since the person looked."""
    row = _found(one(db, Task, "lock_task", task=task), task)
    if if_version is not None and row.version != if_version:
        raise LostRace(
            "stale_view",
            f"task {task} is at version {row.version}, not {if_version}",
            hint=f"tasks show {task}",
            version=row.version,
        )
    return row


def board(
    db: Connection,
    *,
    state: TaskState | None = None,
    repository: int | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Task]:
    """List tasks, newest first; `before` is the last id of the page above."""
    return many(db, Task, "list_tasks", state=state, repository=repository, before=before, limit=limit)


def history(db: Connection, task: int) -> list[Line]:
    """Read what happened to a task, in order, saved revisions and decisions included."""
    return many(db, Line, "list_events", task=get(db, task).id)


def touch(db: Connection, task: int) -> Task:
    """Count a durable change that is not a move."""
    return _found(one(db, Task, "touch_task", task=task), task)


def move(
    db: Connection,
    task: Standing,
    event: TaskEvent,
    *,
    actor: str,
    facts: Facts | None = None,
    reason: str = "",
    question: Question = NO_QUESTION,
    change: Change = UNCHANGED,
    ending: Ending = NO_ENDING,
    epoch: int | None = None,
    policy: int | None = None,
) -> Task:
    """Move a task from where the caller believes it is: one statement, all or nothing.

    `epoch` fences a worker's move, `policy` binds it to a policy version. Raises the named refusal where
    the table has no such edge, `LeaseLost` where the fence does not hold and `LostRace` (`stale_view`)
    where somebody was faster. An open gate must be decided before, in the same transaction.
    """
    step = decide(task.state, event, facts or owing(task))
    moved = one(
        db,
        Task,
        "move_task",
        **_plain(change),
        **_plain(ending),
        task=task.id,
        version=task.version,
        source=step.source,
        dest=step.dest,
        event=step.event,
        epoch=epoch,
        policy=policy,
        actor=actor,
        reason=said(_why(task, reason or question.reason, actor)),
        gate=uuid4() if step.gate else None,
        gate_kind=step.gate,
        gate_reason=said(question.reason or reason),
        gate_subjects=document(list(question.subjects)),
    )
    if moved is None:
        raise _beaten(db, task, epoch)
    return moved


def owing(task: Standing) -> Facts:
    """Say what a task owes as its row stands."""
    return Facts(task=task.id, owed_findings=task.owed_findings, owed_pauses=task.owed_pauses)


def _why(task: Standing, reason: str, actor: str) -> str:
    """Name who asked for the stop that this move clears: its line is the only place that keeps it."""
    asked = f"asked by {task.stop_by}" if task.stop_by and task.stop_by != actor else ""
    return ", ".join(part for part in (reason, asked) if part)


def _plain(part: Change | Ending) -> dict[str, Any]:
    values = {name: getattr(part, name) for name in part.__slots__}  # asdict would copy what it finds
    if values.get("guidance"):
        values["guidance"] = clean(values["guidance"], LONGEST_GUIDANCE)
    if "evidence" in values:
        values["evidence"] = document(values["evidence"])
        values["files"] = document([named(file) for file in values["files"]])
    return values


def _beaten(db: Connection, task: Standing, epoch: int | None) -> LostRace | LeaseLost:
    now = get(db, task.id)
    if epoch is not None and now.running_epoch != epoch:
        return LeaseLost(task=task.id, epoch=epoch)
    return LostRace(
        "stale_view",
        f"task {task.id} changed meanwhile: it is {now.state} at version {now.version}",
        hint=f"tasks show {task.id}",
        version=now.version,
    )


def _found(row: Task | None, task: int) -> Task:
    if row is None:
        raise NotFound("task_not_found", f"there is no task {task}", hint="tasks list")
    return row
