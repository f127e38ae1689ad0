"""Findings: what looked unsafe, owed until a person decides it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, text

from store.schema.columns import Table, big, document, flag, moment, numbered, unique, words
from store.schema.constraints import refers


class Finding(Table, table=True):
    """Keep what was seen, its evidence, and the decision about it."""

    __tablename__ = "finding"
    __table_args__ = (
        CheckConstraint("length(summary) BETWEEN 1 AND 4000", name="finding_summary"),
        CheckConstraint("fingerprint ~ '^[0-9a-f]{64}$'", name="finding_fingerprint"),
        CheckConstraint(
            "(state = 'open') = (decided_at IS NULL) AND (state = 'open') = (decided_by IS NULL)"
            " AND (state = 'open') = (reason IS NULL)",
            name="finding_decided",
        ),
        CheckConstraint("NOT permit OR state = 'dismissed'", name="finding_permit"),
        CheckConstraint("reason IS NULL OR length(btrim(reason)) > 0", name="finding_reason"),
        refers("finding_task_fkey", "task_id", "task(id)"),
        refers("finding_attempt_fkey", "attempt_id", "attempt(id)"),
        Index("finding_one_open", "task_id", "fingerprint", unique=True, postgresql_where=text("state = 'open'")),
        Index("finding_by_task", "task_id", "id"),
        Index("finding_owed", "recorded_at", postgresql_where=text("state = 'open'")),
    )

    id: int | None = numbered()
    task_id: int = big()
    attempt_id: UUID | None = unique(null=True)
    item_id: str | None = words(null=True)
    kind: str = words()
    summary: str = words()
    evidence: dict[str, Any] = document(default="{}")
    fingerprint: str = words()
    late: bool = flag(default=False)
    recorded_by: str = words()
    recorded_at: datetime | None = moment(now=True)
    state: str = words(default="open")
    permit: bool = flag(default=False)
    decided_at: datetime | None = moment(null=True)
    decided_by: str | None = words(null=True)
    reason: str | None = words(null=True)
