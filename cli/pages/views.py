"""One task with everything a person wants to see of it, read without holding anything."""

from dataclasses import dataclass
from pathlib import Path

from statemachine.findings import FindingState
from statemachine.gates import GateKind
from statemachine.pauses import PauseState
from store import allocations, attempts, findings, gates, pauses, plans, repositories, tasks
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Connection
from store.findings import Finding
from store.gates import Gate
from store.pauses import Pause
from store.plans import ItemRow
from store.repositories import Repository
from store.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A task and what hangs on it; `findings` are the open ones, `gate` and `pause` too."""

    task: Task
    repository: Repository
    items: list[ItemRow]
    attempts: list[Attempt]
    findings: list[Finding]
    gate: Gate | None
    pause: Pause | None
    allocation: Allocation | None

    @property
    def waits_for(self) -> GateKind | None:
        """Name the kind of the gate it waits at."""
        return self.gate.kind if self.gate else None


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
    )


def runner_path(root: Path, repository: Repository) -> Path:
    """Name the runner repository's folder below this root, whether it is there or not."""
    from workspace.disk.roots import Root  # noqa: PLC0415
    from workspace.repository.repositories import folder  # noqa: PLC0415 - a list of tasks needs no git

    return folder(Root(root), repository.runner)
