"""Repositories that tasks work on, and what is allowed there."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text

from store.schema.columns import Table, document, flag, moment, numbered, unique, whole, words


class Repository(Table, table=True):
    """Keep where a repository is, where its merges go, and its policy."""

    __tablename__ = "repository"
    __table_args__ = (
        UniqueConstraint("runner", name="repository_runner_key"),
        UniqueConstraint("name", name="repository_name_key"),
        CheckConstraint("length(name) BETWEEN 1 AND 200", name="repository_name_length"),
        CheckConstraint("object_format IN ('sha1', 'sha256')", name="repository_object_format"),
        # A path may be longer than an index entry: the digest is what is unique.
        Index("repository_source_key", text("md5(source)"), unique=True),
    )

    id: int | None = numbered()
    runner: UUID = unique()
    name: str = words()
    source: str = words()
    target: str = words()
    object_format: str = words()
    raw_attributes: bool = flag(default=False)
    policy: dict[str, Any] = document(default="{}")
    policy_version: int = whole(default=1)
    added_by: str = words()
    added_at: datetime | None = moment(now=True)
