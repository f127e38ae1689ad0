"""Outputs: files an attempt left behind; the bytes live on disk."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, UniqueConstraint

from store.schema.columns import Table, big, flag, moment, numbered, unique, words
from store.schema.constraints import refers


class Output(Table, table=True):
    """Keep where a file is, how large, its digest and its last lines."""

    __tablename__ = "output"
    __table_args__ = (
        CheckConstraint("kind IN ('log', 'diff', 'manifest')", name="output_kind"),
        UniqueConstraint("attempt_id", "kind", name="output_once"),
        refers("output_attempt_fkey", "attempt_id", "attempt(id)"),
    )

    id: int | None = numbered()
    attempt_id: UUID = unique()
    kind: str = words()
    host: str = words()
    path: str = words()
    size: int = big()
    sha256: str = words()
    truncated: bool = flag(default=False)
    tail: str = words(default="")
    saved_at: datetime | None = moment(now=True)
