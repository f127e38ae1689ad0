"""Plan revisions: immutable, numbered, each with its items."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from statemachine.attempts import AttemptState
from statemachine.plans import Plan, item_digest, plan_from_document, plan_to_document
from statemachine.refusals import NotFound
from store.engine import Connection
from store.rows import document, many, one


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One saved plan and who saved it."""

    task_id: int
    number: int
    document: dict[str, Any]
    cause: str
    made_by: str
    made_at: datetime
    made_in: str

    @property
    def plan(self) -> Plan:
        """Read the saved document as a plan."""
        return plan_from_document(self.document)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """One item of the current revision with what became of it."""

    item_id: str
    position: int
    kind: str
    title: str
    approval: str
    retries: int
    digest: str
    outcome: str | None
    commit: str | None
    attempt_id: UUID | None
    last_state: str | None

    @property
    def state(self) -> str:
        """Say in one word where the item is: done, unchanged, its last attempt's state, or waiting."""
        done = {"commit": "done", "unchanged": "unchanged"}
        if self.outcome:
            return done[self.outcome]
        return "waiting" if self.taken_back else self.last_state or "waiting"

    @property
    def taken_back(self) -> bool:
        """Tell whether its last attempt was completed and then discarded by a person."""
        return self.outcome is None and self.last_state == AttemptState.completed


def current(db: Connection, *, task: int, number: int) -> Revision:
    """Read one revision of a task's plan."""
    found = one(db, Revision, "get_revision", task=task, number=number)
    if found is None:
        raise NotFound("revision_not_found", f"task {task} has no plan revision {number}", hint=f"tasks show {task}")
    return found


def save(db: Connection, *, task: int, number: int, plan: Plan, cause: str, actor: str, made_in: str) -> Revision:
    """Save the next revision; two savers of the same number cannot both win (`conflict`)."""
    saved = one(
        db,
        Revision,
        "add_revision",
        task=task,
        number=number,
        document=document(plan_to_document(plan)),
        cause=cause,
        actor=actor,
        made_in=made_in,
        items=document(item_rows(plan)),
    )
    assert saved is not None  # noqa: S101 - an INSERT ... RETURNING gives its row or raises
    return saved


def items(db: Connection, task: int) -> list[ItemRow]:
    """List the items of a task's current revision in their order."""
    return many(db, ItemRow, "list_items", task=task)


def item_rows(plan: Plan) -> list[dict[str, Any]]:
    """Spread a plan's items into the rows the database keeps beside the document."""
    return [
        {
            "item_id": item.id,
            "position": position,
            "kind": item.kind.value,
            "title": item.title,
            "approval": item.approval.value,
            "retries": item.retries,
            "digest": item_digest(item),
        }
        for position, item in enumerate(plan.items, start=1)
    ]
