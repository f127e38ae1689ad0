"""Tasks: one narrow row each, and what the database never lets it say."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, UniqueConstraint, text

from store.schema.columns import Table, big, computed, flag, moment, numbered, span, unique, whole, words
from store.schema.constraints import refers

_CHECKS = (
    CheckConstraint("owed_findings >= 0", name="task_owed_findings_nonneg"),
    CheckConstraint("owed_pauses >= 0", name="task_owed_pauses_nonneg"),
    CheckConstraint("next_kind IN ('execute', 'fix', 'check', 'review')", name="task_next_kind"),
    CheckConstraint("stop_reason IN ('user', 'shutdown', 'stale', 'time_limit')", name="task_stop_reason"),
    CheckConstraint(
        "failures >= 0 AND losses >= 0 AND (retries IS NULL OR retries >= 0)",
        name="task_counters",
    ),
    CheckConstraint(
        "(state = 'running') = (lease_worker IS NOT NULL)"
        " AND (lease_worker IS NULL) = (lease_expires IS NULL)"
        " AND (lease_worker IS NULL) = (running_since IS NULL)",
        name="task_lease",
    ),
    CheckConstraint(
        "state = 'running' OR (stop_reason IS NULL AND (NOT cancel_requested OR state = 'cancelled'))",
        name="task_stop_is_of_a_run",
    ),
    CheckConstraint(
        "owed_findings = 0 OR state IN ('needs_human', 'merging', 'merged', 'cancelled')"
        " OR (state = 'running' AND stop_reason IS NOT NULL)",
        name="task_finding_owed",
    ),
    CheckConstraint(
        "owed_pauses = 0 OR state IN ('needs_amendment', 'needs_human', 'cancelled')",
        name="task_pause_owed",
    ),
    CheckConstraint(
        "(state IN ('needs_human', 'needs_amendment', 'needs_approval', 'possibly_fixed', 'in_review'))"
        " = (gate_id IS NOT NULL)",
        name="task_gate",
    ),
)


class Task(Table, table=True):
    """Keep a task's state, lease, debts and pointers; its plan and history live beside it."""

    __tablename__ = "task"
    __table_args__ = (
        UniqueConstraint("id", "gate_id", name="task_gate_key"),
        UniqueConstraint("id", "running_epoch", name="task_running_key"),
        *_CHECKS,
        refers("task_repository_fkey", "repository_id", "repository(id)"),
        refers("task_lease_worker_fkey", "lease_worker", "worker(id)"),
        refers(
            "task_is_its_last_line",
            "id,seq,state,lease_epoch",
            "task_event(task_id,seq,dest,epoch)",
            late=True,
            circular=True,
        ),
        refers("task_revision_fkey", "id,revision", "plan_revision(task_id,number)", circular=True),
        refers("task_gate_is_open", "gate_id,id", "gate(id,open_task)", late=True, circular=True),
        Index("task_claim", text("priority DESC"), "available_at", "id", postgresql_where=text("state = 'queued'")),
        Index("task_held", "id", postgresql_where=text("state = 'running'")),
        Index(
            "task_exhausted",
            "id",
            postgresql_where=text("state = 'queued' AND budget IS NOT NULL AND spent >= budget"),
        ),
        Index("task_by_repository", "repository_id", "id"),
        Index("task_open", "repository_id", "id", postgresql_where=text("state NOT IN ('merged', 'cancelled')")),
    )

    id: int | None = numbered()
    repository_id: int = big()
    title: str = words()
    author: str = words()
    added_at: datetime | None = moment(now=True)
    state: str = words()
    seq: int = whole(default=1)
    version: int = whole(default=1)
    context: int = whole(default=1)
    priority: int = whole(default=0)
    available_at: datetime | None = moment(now=True)
    next_kind: str = words(default="execute")
    executor: str = words()
    revision: int = whole(default=1)
    base: str = words()
    head: str = words()
    target: str = words()
    budget: timedelta | None = span(null=True)
    spent: timedelta | None = span(default="0")
    running_since: datetime | None = moment(null=True)
    failures: int = whole(default=0)
    retries: int | None = whole(null=True)
    losses: int = whole(default=0)
    guidance: str = words(default="")
    lease_worker: int | None = big(null=True)
    lease_epoch: int = whole(default=0)
    lease_expires: datetime | None = moment(null=True)
    owed_findings: int = whole(default=0)
    owed_pauses: int = whole(default=0)
    gate_id: UUID | None = unique(null=True)
    stop_reason: str | None = words(null=True)
    stop_by: str | None = words(null=True)
    cancel_requested: bool = flag(default=False)
    running_epoch: int | None = computed(Integer(), "CASE WHEN state = 'running' THEN lease_epoch END")
