"""Attempts: one run of an agent or of checks, and how it ended."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, UniqueConstraint

from store.schema.columns import Table, big, computed, document, moment, own_uuid, unique, whole, words
from store.schema.constraints import refers

_CHECKS = (
    CheckConstraint("kind IN ('execute', 'fix', 'check', 'review')", name="attempt_kind"),
    CheckConstraint("(kind IN ('execute', 'fix')) = (item_id IS NOT NULL)", name="attempt_item"),
    CheckConstraint("first_reason IN ('user', 'shutdown', 'stale', 'time_limit')", name="attempt_first_reason"),
    CheckConstraint(
        "(outcome IS NULL OR outcome IN ('commit', 'unchanged'))"
        " AND (outcome IS NOT DISTINCT FROM 'commit') = (commit IS NOT NULL)",
        name="attempt_outcome",
    ),
    CheckConstraint("(state IN ('pending', 'running')) = (ended_at IS NULL)", name="attempt_ended"),
    CheckConstraint(
        "state <> 'completed' OR started_at IS NOT NULL AND (outcome IS NOT NULL OR item_id IS NULL)",
        name="attempt_completed",
    ),
)


class Attempt(Table, table=True):
    """Keep what an attempt was admitted with, what it was seen to do, and its end."""

    __tablename__ = "attempt"
    __table_args__ = (
        UniqueConstraint("task_id", "number", name="attempt_number_key"),
        UniqueConstraint("active_task", name="attempt_one_active"),
        *_CHECKS,
        refers("attempt_task_fkey", "task_id", "task(id)"),
        refers("attempt_worker_fkey", "worker_id", "worker(id)"),
        refers("attempt_allocation_fkey", "allocation_id", "allocation(id)"),
        refers("attempt_item_fkey", "task_id,revision,item_id", "plan_item(task_id,revision,item_id)"),
        refers("attempt_active_needs_lease", "active_task,epoch", "task(id,running_epoch)", late=True),
    )

    id: UUID | None = own_uuid()
    task_id: int = big()
    number: int = whole()
    epoch: int = whole()
    kind: str = words()
    item_id: str | None = words(null=True)
    revision: int = whole()
    context: int = whole()
    policy_version: int = whole()
    base: str = words()
    executor: str = words()
    worker_id: int = big()
    allocation_id: UUID | None = unique(null=True)
    state: str = words(default="pending")
    first_reason: str | None = words(null=True)
    admitted_at: datetime | None = moment(now=True)
    started_at: datetime | None = moment(null=True)
    ended_at: datetime | None = moment(null=True)
    handle: dict[str, Any] | None = document(null=True)
    links_digest: str | None = words(null=True)
    exit_code: int | None = whole(null=True)
    isolation_failure: str | None = words(null=True)
    failure_code: str | None = words(null=True)
    failure: str = words(default="")
    manifest_digest: str | None = words(null=True)
    outcome: str | None = words(null=True)
    commit: str | None = words(null=True)
    evidence: dict[str, Any] = document(default="{}")
    active_task: int | None = computed(BigInteger(), "CASE WHEN state IN ('pending', 'running') THEN task_id END")
