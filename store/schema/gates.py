"""Gates: where a task waits for a person."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Index, UniqueConstraint

from store.schema.columns import Table, big, computed, document, moment, own_uuid, words
from store.schema.constraints import refers


class Gate(Table, table=True):
    """Keep what is asked, about what, and who decided it."""

    __tablename__ = "gate"
    __table_args__ = (
        UniqueConstraint("open_task", name="gate_one_open"),
        UniqueConstraint("id", "open_task", name="gate_open_key"),
        CheckConstraint(
            "kind IN ('finding', 'limit', 'failure', 'scope', 'approval', 'fixed', 'review')", name="gate_kind"
        ),
        CheckConstraint(
            "(state = 'open') = (decided_at IS NULL) AND (state = 'open') = (decided_by IS NULL)", name="gate_decided"
        ),
        refers("gate_task_fkey", "task_id", "task(id)"),
        refers("gate_is_its_tasks", "open_task,id", "task(id,gate_id)", late=True, circular=True),
        Index("gate_by_task", "task_id", "opened_at"),
    )

    id: UUID | None = own_uuid()
    task_id: int = big()
    kind: str = words()
    reason: str = words(default="")
    subjects: list[Any] = document(default="[]")
    head: str = words()
    state: str = words(default="open")
    opened_at: datetime | None = moment(now=True)
    decided_at: datetime | None = moment(null=True)
    decided_by: str | None = words(null=True)
    comment: str = words(default="")
    open_task: int | None = computed(BigInteger(), "CASE WHEN state = 'open' THEN task_id END")
