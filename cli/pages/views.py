"""One task with everything a person wants to see of it, read without holding anything."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from statemachine.attempts import ENDED
from statemachine.findings import FindingState
from statemachine.gates import GateKind
from statemachine.pauses import PauseState
from statemachine.tasks import TaskState
from store import allocations, attempts, findings, gates, pauses, plans, repositories, tasks, workers
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Connection
from store.findings import Finding
from store.gates import Gate
from store.pauses import Pause
from store.plans import ItemRow
from store.repositories import Repository
from store.tasks import Task
from store.workers import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An attempt that goes on: who runs it, when that worker was heard last, and how long the agent may take."""

    attempt: Attempt
    worker: Worker
    time_limit: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A task and what hangs on it; `findings` are the open ones, `gate` and `pause` too; `now` is the database's."""

    task: Task
    repository: Repository
    items: list[ItemRow]
    attempts: list[Attempt]
    findings: list[Finding]
    gate: Gate | None
    pause: Pause | None
    allocation: Allocation | None
    running: Running | None
    now: datetime

    @property
    def undone(self) -> ItemRow | None:
        """Name the first item that is not done: the one that runs next."""
        return next((item for item in self.items if not item.outcome), None)

    @property
    def done(self) -> set[UUID | None]:
        """Name the attempts whose work counts."""
        return {item.attempt_id for item in self.items if item.outcome}

    @property
    def unchanged(self) -> bool:
        """Tell whether every item is done and the result is the base."""
        return self.task.head == self.task.base and self.undone is None

    @property
    def waits_for_time(self) -> bool:
        """Tell whether it is queued for later."""
        return is_for_later(self.task, self.now)

    @property
    def waits_for(self) -> GateKind | None:
        """Name the kind of the gate it waits at."""
        return self.gate.kind if self.gate else None


def is_for_later(task: Task, now: datetime) -> bool:
    """Tell whether a task is queued and may not begin yet."""
    return task.state is TaskState.queued and task.available_at > now


def look(db: Connection, task: int) -> View:
    """Read one task and what hangs on it.

    The task's row is read first: whatever is newer than it, a decision made on its version is refused as stale.
    """
    row = tasks.get(db, task)
    pause = pauses.latest(db, task)
    kept = allocations.listing(db, task=task)
    return View(
        task=row,
        repository=repositories.get(db, row.repository_id),
        items=plans.items(db, task),
        attempts=attempts.listing(db, task),
        findings=findings.listing(db, task=task, state=FindingState.open),
        gate=gates.open_gate(db, row),
        pause=pause if pause and pause.state is PauseState.open else None,
        allocation=kept[-1] if kept else None,
        running=_running(db, row),
        now=workers.clock(db),
    )


def _running(db: Connection, row: Task) -> Running | None:
    active = next((each for each in attempts.listing(db, row.id) if each.state not in ENDED), None)
    if active is None:
        return None
    item = plans.current(db, task=row.id, number=active.revision).plan.item(active.item_id or "")
    return Running(
        attempt=active,
        worker=workers.get(db, active.worker_id),
        time_limit=item.time_limit if item else None,
    )


def runner_path(root: Path, repository: Repository) -> Path:
    """Name the runner repository's folder below this root, whether it is there or not."""
    from workspace.disk.roots import Root  # noqa: PLC0415
    from workspace.repository.repositories import folder  # noqa: PLC0415 - a list of tasks needs no git

    return folder(Root(root), repository.runner)
