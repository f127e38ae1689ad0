"""A run: one attempt under way, with everything its steps have in common."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from statemachine.attempts import AttemptKind, StopReason
from statemachine.failpoints import reach
from statemachine.plans import Item, Plan
from statemachine.refusals import LeaseLost, LostRace, Refusal, Unavailable
from statemachine.texts import quote
from store import attempts, claims, plans, repositories
from store.attempts import Attempt
from store.repositories import Repository
from store.tasks import Task
from worker.leases import Lease
from worker.station import Station
from workspace import executors
from workspace.executors import Executor
from workspace.repository import repositories as runners
from workspace.repository.repositories import RunnerRepository

# Not the attempt's own failures: they use up no retry, and recovery takes the task from where its rows are.
INFRASTRUCTURE = (LeaseLost, Unavailable, LostRace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An admitted attempt: its row, its task and plan, its executor, and its own folder for what it leaves."""

    station: Station
    lease: Lease
    task: Task
    plan: Plan
    attempt: Attempt
    repository: Repository
    runner: RunnerRepository
    executor: Executor
    folder: Path

    @property
    def item(self) -> Item:
        """Return the item a writing attempt works on."""
        found = self.plan.item(self.attempt.item_id or "")
        if found is None:
            raise KeyError(self.attempt.item_id)
        return found

    def stop_wanted(self) -> StopReason | None:
        """Name the reason to stop that is known by now, the first recorded one where there is one."""
        if self.lease.stop or self.lease.cancel:
            return self.lease.stop or StopReason.user
        if self.lease.context > self.attempt.context:
            return StopReason.stale
        return StopReason.shutdown if self.station.draining.is_set() else None

    def request_stop(self, why: StopReason) -> None:
        """Record a reason to stop; the first one recorded is the one that counts. Raises `LeaseLost`."""
        with self.station.database.connection() as db:
            asked = claims.request_stop(
                db, task=self.task.id, why=why, actor=self.station.actor, epoch=self.attempt.epoch
            )
        if asked is None:
            raise LeaseLost(task=self.task.id, epoch=self.attempt.epoch)

    def keep(self, name: str, document: dict[str, Any]) -> None:
        """Keep a small document in the attempt's folder, flushed, before anything is built on it."""
        path = self.folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())


def admit(station: Station, task: Task, lease: Lease, *, kind: AttemptKind, item: str | None) -> Run:
    """Admit an attempt: its row is there before anything is made for it."""
    with station.database.connection() as db:
        plan = plans.current(db, task=task.id, number=task.revision).plan
        repository = repositories.get(db, task.repository_id)
    runner = runners.open_repository(station.root, repository.runner)
    executor = executors.find(task.executor, station.settings.confinement)
    with station.database.connection() as db:
        attempt = attempts.admit(db, task, attempt=uuid4(), kind=kind, item=item)
    reach("admitted")
    return Run(
        station=station,
        lease=lease,
        task=task,
        plan=plan,
        attempt=attempt,
        repository=repository,
        runner=runner,
        executor=executor,
        folder=station.root.attempts / str(attempt.id),
    )


def told(error: Refusal | OSError) -> Refusal:
    """Turn what the disk refuses into a refusal like any other: the attempt fails with it, the worker goes on."""
    if isinstance(error, Refusal):
        return error
    where = f": {quote(str(error.filename))}" if error.filename else ""
    return Refusal("disk_failed", f"{error.strerror or error}{where}", hint="tasks doctor", errno=error.errno)
