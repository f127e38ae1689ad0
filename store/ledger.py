"""The commit ledger: what is done, in order; refs are copies of it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.engine import Connection
from store.rows import many, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of `commit_ledger`: an item's result, live until a person discards it."""

    id: int
    task_id: int
    item_id: str
    revision: int
    attempt_id: UUID
    outcome: str
    parent: str
    commit: str | None
    state: str
    recorded_at: datetime
    discarded_at: datetime | None
    discarded_by: str | None
    discarded_reason: str | None


def listing(db: Connection, task: int) -> list[Entry]:
    """List a task's ledger in order, discarded rows included."""
    return many(db, Entry, "list_ledger", task=task)


def live(db: Connection, task: int) -> list[Entry]:
    """List what is done and stands."""
    return [entry for entry in listing(db, task) if entry.state == "live"]


def discard(db: Connection, *, task: int, first: int, actor: str, reason: str) -> list[Entry]:
    """Discard a row and every later one; the caller moves the head to the first one's parent."""
    rows = many(db, Entry, "discard_ledger", task=task, first=first, actor=actor, reason=said(reason))
    return sorted(rows, key=lambda entry: entry.id)
