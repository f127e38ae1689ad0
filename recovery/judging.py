"""What recovery asks of whoever judges for it: the rules are the worker's, which this floor does not know."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from statemachine.plans import Item
from store.attempts import Attempt
from store.repositories import Repository
from store.settlements import Report
from workspace.agents.endings import Ending
from workspace.executors import Executor, Place
from workspace.inspection.inspections import Inspection
from workspace.results.commits import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A tree whose worker is gone: the rows and places it belongs to; nothing of it is kept in a dry run."""

    attempt: Attempt
    item: Item
    repository: Repository
    executor: Executor
    place: Place
    folder: Path
    date: datetime
    identity: Identity
    permits: frozenset[str]
    dry_run: bool


class Conclude(Protocol):
    """Judge an inspected tree as a worker does, and say what to settle."""

    def __call__(
        self, tree: Tree, inspected: Inspection, blank: Report, *, ending: Ending | None, may_commit: bool
    ) -> Report:
        """Fill in a blank report; without an ending nothing is committed and nothing a worker saw counts."""
