"""Pauses: an item left its declared scope."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, text

from store.schema.columns import Table, big, document, moment, names, numbered, unique, whole, words
from store.schema.constraints import refers


class Pause(Table, table=True):
    """Keep what an item did outside its scope, and at which head."""

    __tablename__ = "pause"
    __table_args__ = (
        CheckConstraint(
            "(state = 'open') = (decided_at IS NULL) AND (state = 'open') = (decided_by IS NULL)", name="pause_decided"
        ),
        CheckConstraint(
            "CASE WHEN jsonb_typeof(out_of_scope) = 'array' THEN jsonb_array_length(out_of_scope) > 0 ELSE false END",
            name="pause_out_of_scope",
        ),
        refers("pause_task_fkey", "task_id", "task(id)"),
        refers("pause_attempt_fkey", "attempt_id", "attempt(id)"),
        Index("pause_one_open", "task_id", unique=True, postgresql_where=text("state = 'open'")),
        Index("pause_by_task", "task_id", "id"),
    )

    id: int | None = numbered()
    task_id: int = big()
    attempt_id: UUID = unique()
    revision: int = whole()
    item_id: str = words()
    head: str = words()
    tree: str = words()
    done: list[str] = names()
    out_of_scope: list[Any] = document()
    state: str = words(default="open")
    opened_at: datetime | None = moment(now=True)
    decided_at: datetime | None = moment(null=True)
    decided_by: str | None = words(null=True)
