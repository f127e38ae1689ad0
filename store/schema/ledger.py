"""The commit ledger: which items are done, and by which commit."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, text

from store.schema.columns import Table, big, moment, numbered, unique, whole, words
from store.schema.constraints import refers


class CommitLedger(Table, table=True):
    """Keep the result of one item; refs are copies of this."""

    __tablename__ = "commit_ledger"
    __table_args__ = (
        CheckConstraint(
            "outcome IN ('commit', 'unchanged') AND (outcome = 'commit') = (commit IS NOT NULL)",
            name="commit_ledger_outcome",
        ),
        CheckConstraint(
            "commit IS NULL OR (commit <> parent AND commit ~ '^([0-9a-f]{40}|[0-9a-f]{64})$')",
            name="commit_ledger_commit",
        ),
        CheckConstraint("(state = 'discarded') = (discarded_by IS NOT NULL)", name="commit_ledger_discarded"),
        refers("commit_ledger_task_fkey", "task_id", "task(id)"),
        refers("commit_ledger_attempt_fkey", "attempt_id", "attempt(id)"),
        Index("commit_ledger_one_live", "task_id", "item_id", unique=True, postgresql_where=text("state = 'live'")),
        Index("commit_ledger_by_task", "task_id", "id"),
    )

    id: int | None = numbered()
    task_id: int = big()
    item_id: str = words()
    revision: int = whole()
    attempt_id: UUID = unique()
    outcome: str = words()
    parent: str = words()
    commit: str | None = words(null=True)
    state: str = words(default="live")
    recorded_at: datetime | None = moment(now=True)
    discarded_at: datetime | None = moment(null=True)
    discarded_by: str | None = words(null=True)
    discarded_reason: str | None = words(null=True)
