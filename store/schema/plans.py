"""Plans: immutable revisions and their items."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, UniqueConstraint

from store.schema.columns import Table, big, document, moment, whole, words
from store.schema.constraints import refers


class PlanRevision(Table, table=True):
    """Keep one revision of a task's plan, whole."""

    __tablename__ = "plan_revision"
    __table_args__ = (
        CheckConstraint("number >= 1", name="plan_revision_number"),
        CheckConstraint("cause IN ('add', 'amend', 'scope', 'request_changes')", name="plan_revision_cause"),
        refers("plan_revision_task_fkey", "task_id", "task(id)"),
    )

    task_id: int = big(key=True)
    number: int = whole(key=True)
    document: dict[str, Any] = document()
    cause: str = words()
    made_by: str = words()
    made_at: datetime | None = moment(now=True)
    made_in: str = words()


class PlanItem(Table, table=True):
    """Keep what is asked about an item without reading the whole plan."""

    __tablename__ = "plan_item"
    __table_args__ = (
        UniqueConstraint("task_id", "revision", "position", name="plan_item_position_key"),
        CheckConstraint("kind IN ('execute', 'fix')", name="plan_item_kind"),
        CheckConstraint("approval IN ('none', 'before')", name="plan_item_approval"),
        refers("plan_item_revision_fkey", "task_id,revision", "plan_revision(task_id,number)"),
    )

    task_id: int = big(key=True)
    revision: int = whole(key=True)
    item_id: str = words(key=True)
    position: int = whole()
    kind: str = words()
    title: str = words()
    approval: str = words()
    retries: int = whole()
    digest: str = words()
