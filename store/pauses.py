"""Scope pauses: work outside the declared files, kept until a person decides it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from statemachine.pauses import PauseState
from statemachine.plans import OperationKind
from store.engine import Connection
from store.rows import document, one
from store.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One row of `pause`: which commit went out of scope, and by which paths."""

    id: int
    task_id: int
    attempt_id: UUID
    revision: int
    item_id: str
    head: str
    tree: str
    done: list[str]
    out_of_scope: list[dict[str, str]]
    state: PauseState
    opened_at: datetime
    decided_at: datetime | None
    decided_by: str | None


def open_pause(
    db: Connection, task: Task, *, attempt: UUID, item: str | None, tree: str, paths: Sequence[dict[str, str]]
) -> Pause:
    """Record the pause of a commit that is the task's head; `paths` are operations and paths as seen."""
    opened = one(
        db,
        Pause,
        "open_pause",
        task=task.id,
        attempt=attempt,
        revision=task.revision,
        item=item,
        head=task.head,
        tree=tree,
        out_of_scope=document([_stored(seen) for seen in paths]),
    )
    assert opened is not None  # noqa: S101 - an INSERT ... RETURNING gives its row or raises
    return opened


def latest(db: Connection, task: int) -> Pause | None:
    """Read the latest pause of a task, whatever its state."""
    return one(db, Pause, "latest_pause", task=task)


def end(db: Connection, task: int, state: PauseState, *, actor: str) -> Pause | None:
    """End the open pause of a task; none where there is none."""
    return one(db, Pause, "decide_pause", task=task, state=state, actor=actor)


def seen_paths(pause: Pause) -> list[tuple[OperationKind, str]]:
    """List what was done outside the scope, with every path as it is on disk; bytes that are no text as surrogates."""
    return [(OperationKind(each["operation"]), _path(each)) for each in pause.out_of_scope]


def _stored(seen: dict[str, str]) -> dict[str, str]:
    """Escape a path that is no UTF-8 and keep its bytes beside it; a column cannot hold it as it is."""
    raw = seen["path"].encode("utf-8", "surrogateescape")
    path = raw.decode("utf-8", "backslashreplace")
    return seen if path == seen["path"] else {**seen, "path": path, "bytes": raw.hex()}


def _path(stored: dict[str, str]) -> str:
    raw = stored.get("bytes")
    return bytes.fromhex(raw).decode("utf-8", "surrogateescape") if raw else stored["path"]
