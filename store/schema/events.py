"""The history of tasks: lines that are added, never changed."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Integer, UniqueConstraint

from store.schema.columns import Table, big, computed, moment, unique, user, whole, words
from store.schema.constraints import refers


class TaskEvent(Table, table=True):
    """Keep one move of a task: each line is an edge and starts where the line before it ended."""

    __tablename__ = "task_event"
    __table_args__ = (
        UniqueConstraint("task_id", "seq", "dest", "epoch", name="task_event_end"),
        CheckConstraint(
            "seq >= 1 AND (seq = 1) = (source = '') AND (seq > 1 OR epoch = 0)",
            name="task_event_begin",
        ),
        refers("task_event_task_fkey", "task_id", "task(id)"),
        refers("task_event_edge", "event,source,dest", "task_edge(event,source,dest)"),
        refers("task_event_chain", "task_id,prev,source,prev_epoch", "task_event(task_id,seq,dest,epoch)"),
    )

    task_id: int = big(key=True)
    seq: int = whole(key=True)
    event: str = words()
    source: str = words()
    dest: str = words()
    epoch: int = whole()
    actor: str = words()
    role: str | None = user()
    at: datetime | None = moment(now=True)
    attempt_id: UUID | None = unique(null=True)
    reason: str = words(default="")
    prev: int | None = computed(Integer(), "nullif(seq - 1, 0)")
    prev_epoch: int | None = computed(
        Integer(), "CASE WHEN event IN ('claim', 'take_over') THEN epoch - 1 ELSE epoch END"
    )
