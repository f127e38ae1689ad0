"""Worker processes, alive and gone."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, text

from store.schema.columns import Table, moment, names, numbered, whole, words


class Worker(Table, table=True):
    """Keep which process this is, on which host and boot, and when it was last heard."""

    __tablename__ = "worker"
    __table_args__ = (
        CheckConstraint("slots >= 1", name="worker_slots"),
        Index("worker_present", "host", "id", postgresql_where=text("state <> 'gone'")),
    )

    id: int | None = numbered()
    name: str = words()
    host: str = words()
    boot_id: str = words()
    pid: int = whole()
    started: str = words()
    kinds: list[str] = names()
    executors: list[str] = names()
    slots: int = whole()
    state: str = words(default="active")
    heartbeat_at: datetime | None = moment(now=True)
    since: datetime | None = moment(now=True)
    gone_at: datetime | None = moment(null=True)
