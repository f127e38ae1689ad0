"""Approvals: what a person said yes to."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Index

from store.schema.columns import Table, big, moment, numbered, unique, user, whole, words
from store.schema.constraints import refers


class Approval(Table, table=True):
    """Keep exactly what was approved; what is covered is not asked again."""

    __tablename__ = "approval"
    __table_args__ = (
        CheckConstraint(
            "CASE kind WHEN 'plan' THEN revision IS NOT NULL"
            " WHEN 'item' THEN item_id IS NOT NULL AND digest IS NOT NULL"
            " WHEN 'fixed' THEN base IS NOT NULL"
            " WHEN 'review' THEN head IS NOT NULL AND base IS NOT NULL AND target IS NOT NULL"
            " ELSE false END",
            name="approval_subject",
        ),
        refers("approval_task_fkey", "task_id", "task(id)"),
        refers("approval_gate_fkey", "gate_id", "gate(id)"),
        Index("approval_by_task", "task_id", "kind", "id"),
    )

    id: int | None = numbered()
    task_id: int = big()
    kind: str = words()
    gate_id: UUID | None = unique(null=True)
    revision: int | None = whole(null=True)
    item_id: str | None = words(null=True)
    digest: str | None = words(null=True)
    base: str | None = words(null=True)
    head: str | None = words(null=True)
    target: str | None = words(null=True)
    actor: str = words()
    role: str | None = user()
    at: datetime | None = moment(now=True)
