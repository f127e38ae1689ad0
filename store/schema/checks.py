"""Check results: what each command of a plan said about a head."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Index

from store.schema.columns import Table, big, flag, moment, numbered, unique, whole, words
from store.schema.constraints import refers


class CheckResult(Table, table=True):
    """Keep one run of one command; the latest for a head counts."""

    __tablename__ = "check_result"
    __table_args__ = (
        refers("check_result_task_fkey", "task_id", "task(id)"),
        refers("check_result_attempt_fkey", "attempt_id", "attempt(id)"),
        Index("check_result_by_head", "task_id", "head", "id"),
    )

    id: int | None = numbered()
    task_id: int = big()
    attempt_id: UUID = unique()
    head: str = words()
    command: str = words()
    exit_code: int | None = whole(null=True)
    passed: bool = flag()
    tail: str = words(default="")
    at: datetime | None = moment(now=True)
    voided_at: datetime | None = moment(null=True)
