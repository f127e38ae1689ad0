"""Gates: the questions a task waits at; what a decision does is in decisions."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from statemachine.gates import GateKind, GateState
from statemachine.refusals import LostRace, NotFound
from store.engine import Connection
from store.rows import many, one, said
from store.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One row of `gate`: what is asked, since when, and how it was answered."""

    id: UUID
    task_id: int
    kind: GateKind
    reason: str
    subjects: list[str]
    head: str
    state: GateState
    opened_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    comment: str
    open_task: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Gate):
    """An open gate with what a person wants to see of its task in a list."""

    title: str
    task_state: str
    owed_findings: int
    task_version: int


def get(db: Connection, gate: UUID) -> Gate:
    """Read one gate."""
    found = one(db, Gate, "get_gate", gate=gate)
    if found is None:
        raise NotFound("gate_not_found", f"there is no gate g-{gate.hex}", hint="tasks gate list")
    return found


def listing(db: Connection, *, kind: GateKind | None = None, limit: int = 500) -> list[Waiting]:
    """List open gates, oldest first."""
    return many(db, Waiting, "list_gates", kind=kind, limit=limit)


def open_gate(db: Connection, task: Task) -> Gate | None:
    """Read the gate a task waits at."""
    return get(db, task.gate_id) if task.gate_id else None


def close(db: Connection, gate: Gate, state: GateState, *, actor: str, comment: str = "") -> Gate:
    """Answer an open gate, once; two people answering at once: one wins, the other hears `stale_view`."""
    closed = one(db, Gate, "decide_gate", gate=gate.id, state=state, actor=actor, comment=said(comment))
    if closed is None:
        raise LostRace("stale_view", f"gate g-{gate.id.hex} was decided meanwhile", hint=f"tasks show {gate.task_id}")
    return closed
