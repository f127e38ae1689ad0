"""Answers: what a person's word at a gate does, in one transaction of the caller, under the task's row lock."""

from dataclasses import dataclass
from uuid import UUID

from statemachine.gates import GateKind, GateState
from statemachine.refusals import LostRace, Refusal
from statemachine.tasks import TaskEvent
from statemachine.texts import listing
from store import approvals, gates, interventions, plans, tasks
from store.engine import Connection
from store.finding_answers import answer_findings
from store.fixes import request_changes
from store.gates import Gate
from store.scope_answers import continue_in_scope, discard_paused
from store.tasks import Task
from store.words import Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The gate that was answered and the task as it now is."""

    gate: Gate
    task: Task


def approve(db: Connection, gate: UUID, word: Word) -> Answered:
    """Say yes at an open gate; bound to the gate's head and to everything it asks."""
    task, asked = _held(db, gate, word)
    match asked.kind:
        case GateKind.finding:
            moved = answer_findings(db, task, asked, word)
        case GateKind.limit | GateKind.failure:
            moved = _go_on(db, task, asked, word)
        case GateKind.scope:
            moved = continue_in_scope(db, task, asked, word)
        case GateKind.approval:
            moved = _start(db, task, asked, word)
        case GateKind.fixed:
            moved = _continue_anyway(db, task, asked, word)
        case GateKind.review:
            moved = _approve_result(db, task, asked, word)
    return Answered(gate=gates.get(db, gate), task=moved)


def reject(db: Connection, gate: UUID, word: Word) -> Answered:
    """Say no at an open gate: send the work back where that is possible, else close the task."""
    task, asked = _held(db, gate, word)
    if word.cancel or asked.kind not in {GateKind.scope, GateKind.review}:
        moved = interventions.close_task(db, task, actor=word.actor, reason=word.reason, gate_state=GateState.rejected)
    elif asked.kind is GateKind.scope:
        moved = discard_paused(db, task, asked, word)
    else:
        moved = _send_back(db, task, asked, word)
    return Answered(gate=gates.get(db, gate), task=moved)


def _held(db: Connection, gate: UUID, word: Word) -> tuple[Task, Gate]:
    """Hold the gate's task and read the gate again: two people deciding at once meet here."""
    task = tasks.lock(db, gates.get(db, gate).task_id, if_version=word.if_version)
    asked = gates.get(db, gate)
    if asked.state is not GateState.open:
        raise LostRace(
            "stale_view",
            f"gate g-{gate.hex[:8]} is {asked.state} already, by {asked.decided_by}",
            hint=f"tasks show {task.id}",
            state=asked.state.value,
        )
    return task, asked


def _go_on(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    """Try again, or let a fix answer what failed once every item is done; an open pause comes first either way."""
    if word.then != "changes" or task.owed_pauses:
        return interventions.go_on(db, task, asked, word)
    undone = [item.item_id for item in plans.items(db, task.id) if not item.outcome]
    if undone:
        raise Refusal(
            "items_unfinished",
            f"task {task.id} has items that are not done ({listing(undone)}); what should change is told to them",
            hint=f"tasks gate approve {task.id} --guidance TEXT",
            unfinished=undone,
        )
    gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
    return request_changes(db, task, actor=word.actor, guidance=word.guidance)


def _start(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    items = {item.item_id: item for item in plans.items(db, task.id)}
    for subject in asked.subjects:
        item = items.get(subject.removeprefix("item:"))
        if subject == "plan":
            approvals.add(db, task=task.id, kind="plan", actor=word.actor, gate=asked.id, revision=task.revision)
        elif item:
            approvals.add(
                db, task=task.id, kind="item", actor=word.actor, gate=asked.id, item=item.item_id, digest=item.digest
            )
    gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
    return tasks.move(db, task, TaskEvent.approve_start, actor=word.actor, reason=word.reason)


def _continue_anyway(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    approvals.add(db, task=task.id, kind="fixed", actor=word.actor, gate=asked.id, base=task.base)
    gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
    return tasks.move(db, task, TaskEvent.continue_anyway, actor=word.actor, reason=word.reason)


def _approve_result(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    if asked.head != task.head:
        raise LostRace(
            "stale_view", f"the head of task {task.id} moved since the gate opened", hint=f"tasks diff {task.id}"
        )
    approvals.add(
        db,
        task=task.id,
        kind="review",
        actor=word.actor,
        gate=asked.id,
        base=task.base,
        head=task.head,
        target=task.target,
    )
    gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
    return tasks.move(db, task, TaskEvent.approve, actor=word.actor, reason=word.reason)


def _send_back(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    gates.close(db, asked, GateState.rejected, actor=word.actor, comment=word.reason or word.guidance)
    return request_changes(db, task, actor=word.actor, guidance=word.guidance or word.reason)
