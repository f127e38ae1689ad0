"""The scene of a recovery pass: whose it is, where it looks, and what its repairs share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from statemachine.workers import WorkerState
from store import workers
from store.engine import Connection, Database
from store.recoveries import Interrupted
from workspace.agents.hosts import Host, gone
from workspace.disk.roots import Root
from workspace.results.commits import Identity

# The rows by which passes under way in this process take leases. A lease under another one was left by a pass that
# could not give it back.
UNDER_WAY: Final[set[int]] = set()


class _TakenBack(Exception):  # noqa: N818 - nothing went wrong
    """End the transaction of a dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One pass of one process; `worker` gives the row that takes leases, made when the first one is taken.

    `resumed` names the tasks and `settled` the attempts (each with its task) this pass dealt with, or in a dry run
    would have.
    """

    database: Database
    root: Root
    host: Host
    actor: str
    identity: Identity
    dry_run: bool
    worker: Callable[[], int]
    resumed: set[int] = field(default_factory=set)
    settled: dict[UUID, int] = field(default_factory=dict)
    _dead: dict[int, bool] = field(default_factory=dict)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open the transaction of one repair; a dry run makes it in full and takes it back."""
        with suppress(_TakenBack), self.database.transaction() as db:
            yield db
            if self.dry_run:
                raise _TakenBack

    def proven_dead(self, found: Interrupted) -> bool:
        """Tell whether a lease's worker is gone for certain: it said so itself, or its process here is no more."""
        if found.worker_state is WorkerState.gone:
            return True
        if found.lease_worker not in self._dead:
            self._dead[found.lease_worker] = self._is_gone(found)
        return self._dead[found.lease_worker]

    def _is_gone(self, found: Interrupted) -> bool:
        process = Host(id=found.host, boot=found.boot_id, pid=found.pid, started=found.started)
        if process == self.host:
            return found.recovers and found.lease_worker not in UNDER_WAY
        if process.id != self.host.id or not gone(process):
            return False
        with self.database.session() as db:
            return workers.lock_is_free(db, found.lease_worker)
