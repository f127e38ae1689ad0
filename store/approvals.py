"""Approvals: what a person said yes to, kept as rows, so that it is not asked twice."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.engine import Connection
from store.rows import one, run


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One row of `approval`; which fields count depends on its kind."""

    id: int
    task_id: int
    kind: str
    gate_id: UUID | None
    revision: int | None
    item_id: str | None
    digest: str | None
    base: str | None
    head: str | None
    target: str | None
    actor: str
    role: str
    at: datetime


def add(
    db: Connection,
    *,
    task: int,
    kind: str,
    actor: str,
    gate: UUID | None = None,
    revision: int | None = None,
    item: str | None = None,
    digest: str | None = None,
    base: str | None = None,
    head: str | None = None,
    target: str | None = None,
) -> None:
    """Remember an approval of a plan, an item, a base or a result."""
    run(
        db,
        "add_approval",
        task=task,
        kind=kind,
        gate=gate,
        revision=revision,
        item=item,
        digest=digest,
        base=base,
        head=head,
        target=target,
        actor=actor,
    )


def carry(db: Connection, *, task: int, revision: int, actor: str, gate: UUID | None) -> None:
    """Let a plan and items that were approved stay approved in the revision a reviewer's decision made of them.

    What was never asked is not covered by it, however much of the plan the decision changed.
    """
    run(db, "carry_approvals", task=task, revision=revision, actor=actor, gate=gate)


def latest_review(db: Connection, task: int) -> Approval | None:
    """Read the latest approval of a task's result; whether it still covers is for the caller to compare."""
    return one(db, Approval, "latest_approval", task=task)
