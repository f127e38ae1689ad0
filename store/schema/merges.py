"""Merge attempts: a row before the push."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, text

from store.schema.columns import Table, big, moment, own_uuid, words
from store.schema.constraints import refers


class MergeAttempt(Table, table=True):
    """Keep what is pushed where, over which old value, and whether it arrived."""

    __tablename__ = "merge_attempt"
    __table_args__ = (
        CheckConstraint("strategy IN ('ff', 'merge', 'squash')", name="merge_attempt_strategy"),
        CheckConstraint("(state = 'submitting') = (ended_at IS NULL)", name="merge_attempt_ended"),
        refers("merge_attempt_task_fkey", "task_id", "task(id)"),
        Index("merge_attempt_one", "task_id", unique=True, postgresql_where=text("state = 'submitting'")),
        Index("merge_attempt_by_task", "task_id", "begun_at"),
    )

    id: UUID | None = own_uuid()
    task_id: int = big()
    state: str = words(default="submitting")
    strategy: str = words()
    target: str = words()
    branch: str = words()
    old_tip: str | None = words(null=True)
    head: str = words()
    commit: str = words()
    actor: str = words()
    host: str = words()
    begun_at: datetime | None = moment(now=True)
    lease_expires: datetime = moment()
    pushing_at: datetime | None = moment(null=True)
    ended_at: datetime | None = moment(null=True)
    reason: str = words(default="")
