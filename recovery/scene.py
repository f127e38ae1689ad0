"""The scene of a recovery pass: whose it is, where it looks, and what its repairs share."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from recovery.judging import Conclude
from statemachine.refusals import Refusal
from store.engine import Connection, Database
from workspace.agents.hosts import Host
from workspace.disk.roots import Root
from workspace.results.commits import Identity

Row = TypeVar("Row")


class _TakenBack(Exception):  # noqa: N818 - nothing went wrong
    """End the transaction of a dry run."""


@dataclass(slots=True, kw_only=True)
class Patience:
    """How many trees a pass may still judge; without a number, all there are."""

    trees: int | None

    def spend(self) -> None:
        """Take one tree; raises `tree_waits` where this pass has judged enough."""
        if self.trees == 0:
            raise Refusal("tree_waits", "its tree is judged in one of the next passes", hint="tasks recover")
        self.trees = None if self.trees is None else self.trees - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One pass of one process; `worker` gives the row that takes leases, made when the first one is taken.

    `dead` names the workers that are proven gone. What a dry run would have dealt with is kept in mind, for nothing of
    it is in the rows: tasks in `resumed`, attempts with their tasks in `settled`, tasks with a new head in `advanced`.
    """

    database: Database
    root: Root
    host: Host
    actor: str
    identity: Identity
    dry_run: bool
    brief: bool
    worker: Callable[[], int]
    conclude: Conclude
    stopping: Callable[[], bool]
    patience: Patience
    dead: set[int] = field(default_factory=set)
    resumed: set[int] = field(default_factory=set)
    settled: dict[UUID, int] = field(default_factory=dict)
    advanced: set[int] = field(default_factory=set)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open the transaction of one repair; a dry run makes it in full and takes it back."""
        with suppress(_TakenBack), self.database.transaction() as db:
            yield db
            if self.dry_run:
                raise _TakenBack

    def until_stopped(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Go through rows until the process is told to end: between two of them a pass can always be left."""
        for row in rows:
            if self.stopping():
                return
            yield row

    def remember(self, task: int, attempt: UUID | None, *, committed: bool = False) -> None:
        """Keep in mind what a dry run would have dealt with."""
        if not self.dry_run:
            return
        self.resumed.add(task)
        if attempt:
            self.settled[attempt] = task
        if committed:
            self.advanced.add(task)
