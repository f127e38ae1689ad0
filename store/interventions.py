"""Interventions: a person stops, cancels or retries a task, or lets it go on from where it rests."""

from dataclasses import replace
from datetime import timedelta

from statemachine import admissions, reasons
from statemachine.admissions import RetryFacts
from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.decisions import Facts
from statemachine.gates import GateState
from statemachine.pauses import PauseState
from statemachine.plans import Plan
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent, TaskState
from statemachine.texts import one_line
from store import approvals, claims, findings, gates, ledger, pauses, plans, tasks
from store.engine import Connection
from store.gates import Gate
from store.ledger import Entry
from store.pauses import Pause
from store.tasks import Change, Question, Task
from store.words import Word


def stop(db: Connection, task: int, *, actor: str, if_version: int | None = None) -> Task:
    """Ask a running task to stop; between items its worker, or recovery, halts it."""
    row = tasks.lock(db, task, if_version=if_version)
    asked = claims.request_stop(db, task=task, why=StopReason.user, actor=actor)
    if asked is None:
        raise Refusal(
            "not_running", f"task {task} is {row.state}; only a running one can be stopped", hint=f"tasks show {task}"
        )
    return asked


def cancel(db: Connection, task: int, *, actor: str, reason: str, if_version: int | None = None) -> Task:
    """Close a task; while it runs the request is remembered, and its settlement or next step closes it."""
    row = tasks.lock(db, task, if_version=if_version)
    if row.state is TaskState.running:
        asked_by = f"{actor}: {one_line(reason)}" if reason.strip() else actor
        return claims.request_stop(db, task=task, why=StopReason.user, actor=asked_by, cancel=True) or row
    return close_task(db, row, actor=actor, reason=reason, gate_state=GateState.withdrawn)


def retry(db: Connection, task: int, word: Word, *, attempt: AttemptState | None = None) -> Task:
    """Queue a task again at a person's word, with counts that start afresh; refused while anything is owed."""
    row = tasks.lock(db, task)
    owed = tuple(finding.id for finding in findings.owed(db, task))
    admissions.retry(
        RetryFacts(
            task=task,
            state=row.state,
            owed_findings=owed,
            owed_pauses=row.owed_pauses,
            budget_left=_budget_left(row, word.budget),
            version=row.version,
            version_seen=word.if_version,
            attempt=attempt,
        )
    )
    gate = gates.open_gate(db, row)
    if gate:
        gates.close(db, gate, GateState.approved, actor=word.actor, comment=word.reason)
    return requeue(db, row, word)


def go_on(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    """Answer a limit or a failure gate: the open pause first, else a retry."""
    pause = pauses.latest(db, task.id)
    if pause and pause.state is PauseState.open:
        gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
        return resume_pause(db, task, pause, actor=word.actor, reason=word.reason)
    return retry(db, task.id, word)


def requeue(db: Connection, task: Task, word: Word) -> Task:
    """Move a task that owes nothing and whose gate is closed back to the queue."""
    if word.guidance.strip() and all(item.outcome for item in plans.items(db, task.id)):
        raise Refusal(
            "guidance_unheard",
            f"every item of task {task.id} is done, so no agent runs again that could hear a word of guidance",
            hint=f"tasks gate approve {task.id} --then changes --guidance TEXT",
        )
    changed = _with_time_limit(db, task, word)
    return tasks.move(
        db,
        task,
        TaskEvent.retry,
        actor=word.actor,
        reason=word.reason,
        change=replace(
            changed,
            budget=word.budget,
            retries=word.retries,
            retries_set=True,
            failures=0,
            losses=0,
            guidance=word.guidance,
        ),
    )


def resume_pause(db: Connection, task: Task, pause: Pause, *, actor: str, reason: str) -> Task:
    """Put a task whose other questions are answered back at its scope gate."""
    why = reasons.outside(pause.item_id, [each["path"] for each in pause.out_of_scope])
    return tasks.move(db, task, TaskEvent.resume_pause, actor=actor, reason=reason, question=Question(reason=why))


def discard_from(
    db: Connection, task: Task, first: Entry, *, actor: str, reason: str, guidance: str | None = None
) -> Task:
    """Take a ledger row and every later one back: the head moves to before it, the items run again."""
    gone = ledger.discard(db, task=task.id, first=first.id, actor=actor, reason=reason)
    pause = pauses.latest(db, task.id)
    if pause and pause.state is PauseState.open and pause.attempt_id in {entry.attempt_id for entry in gone}:
        pauses.end(db, task.id, PauseState.discarded, actor=actor)
    now = tasks.get(db, task.id)
    return tasks.move(
        db,
        now,
        TaskEvent.discard_item,
        actor=actor,
        reason=reason,
        change=Change(
            context=1,
            head=first.parent,
            failures=0,
            losses=0,
            retries_set=True,
            next_kind=_kind(db, first),
            guidance=guidance,
        ),
    )


def close_task(db: Connection, task: Task, *, actor: str, reason: str, gate_state: GateState) -> Task:
    """Close a resting task: its gate ends with `gate_state`, its pause is withdrawn, its findings stay as history."""
    facts = Facts(task=task.id, owed_findings=task.owed_findings)
    if task.state is TaskState.merging:
        tasks.move(db, task, TaskEvent.cancel, actor=actor)
    gate = gates.open_gate(db, task)
    if gate:
        gates.close(db, gate, gate_state, actor=actor, comment=reason)
    pauses.end(db, task.id, PauseState.withdrawn, actor=actor)
    return tasks.move(db, task, TaskEvent.cancel, actor=actor, facts=facts, reason=reason)


def _budget_left(task: Task, granted: timedelta | None) -> timedelta | None:
    budget = granted or task.budget
    return None if budget is None else budget - task.spent


def _with_time_limit(db: Connection, task: Task, word: Word) -> Change:
    """A new time limit for the next item is a new revision of the plan; it covers what was covered before."""
    undone = next((item.item_id for item in plans.items(db, task.id) if not item.outcome), None)
    if word.time_limit is None or undone is None:
        return Change()
    plan = plans.current(db, task=task.id, number=task.revision).plan
    changed = tuple(replace(item, time_limit=word.time_limit) if item.id == undone else item for item in plan.items)
    return _save(db, task, replace(plan, items=changed), cause="amend", actor=word.actor)


def save_covered(db: Connection, task: Task, plan: Plan, *, cause: str, actor: str) -> Change:
    """Save a revision that a reviewer's decision makes; it approves the plan, but no item that was never asked."""
    approvals.add(db, task=task.id, kind="plan", actor=actor, gate=task.gate_id, revision=task.revision + 1)
    return _save(db, task, plan, cause=cause, actor=actor)


def _save(db: Connection, task: Task, plan: Plan, *, cause: str, actor: str) -> Change:
    number = task.revision + 1
    plans.save(db, task=task.id, number=number, plan=plan, cause=cause, actor=actor, made_in=task.state)
    approvals.carry(db, task=task.id, revision=number, actor=actor, gate=task.gate_id)
    return Change(revision=number, context=1)


def _kind(db: Connection, entry: Entry) -> AttemptKind:
    kinds = {item.item_id: item.kind for item in plans.items(db, entry.task_id)}
    return AttemptKind(kinds.get(entry.item_id, AttemptKind.execute))
