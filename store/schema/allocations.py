"""Allocations: workspaces reserved for tasks, a row before the first file."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, text

from store.schema.columns import Table, big, document, flag, moment, own_uuid, unique, whole, words
from store.schema.constraints import refers


class Allocation(Table, table=True):
    """Keep where a workspace is, what it was made from, and what became of it."""

    __tablename__ = "allocation"
    __table_args__ = (
        CheckConstraint("executor IN ('local', 'sandbox', 'docker', 'ssh')", name="allocation_executor"),
        CheckConstraint("NOT unjudged OR state = 'quarantined'", name="allocation_judged"),
        CheckConstraint(
            "state <> 'ready' OR (base IS NOT NULL AND (path IS NOT NULL OR executor = 'ssh')"
            " AND (baseline IS NOT NULL OR executor <> 'local'))",
            name="allocation_ready",
        ),
        refers("allocation_task_fkey", "task_id", "task(id)"),
        Index(
            "allocation_one_live",
            "task_id",
            "state",
            unique=True,
            postgresql_where=text("state IN ('reserved', 'ready')"),
        ),
        Index("allocation_by_task", "task_id", "reserved_at"),
        Index("allocation_live", "host", "id", postgresql_where=text("state IN ('reserved', 'ready')")),
        Index("allocation_unjudged", "host", "id", postgresql_where=text("unjudged")),
        Index("allocation_kept", "host", "state", postgresql_where=text("state <> 'released'")),
    )

    id: UUID | None = own_uuid()
    task_id: int = big()
    epoch: int = whole()
    host: str = words()
    executor: str = words()
    executor_target: str = words(default="")
    state: str = words(default="reserved")
    generation: int = whole(default=1)
    path: str | None = words(null=True)
    base: str | None = words(null=True)
    baseline: str | None = words(null=True)
    handles: dict[str, Any] = document(default="{}")
    materialised_by: UUID = unique()
    reserved_at: datetime | None = moment(now=True)
    ready_at: datetime | None = moment(null=True)
    ended_at: datetime | None = moment(null=True)
    reason: str = words(default="")
    unjudged: bool = flag(default=False)
