"""Leases of a recovery pass: taken from the dead, held for one task at a time, given back where it cannot be moved."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Final

from recovery.processes import UNDER_WAY
from recovery.scene import Scene
from statemachine.failpoints import reach
from statemachine.refusals import LeaseLost, Refusal
from store import claims, tasks, workers
from store.engine import Connection, Database
from store.recoveries import Interrupted
from store.tasks import Task
from workspace.agents.hosts import Host

# One tree at a time, each step bounded (end 60 s, inspect 120 s, export 60 s): one lease outlasts them all.
LEASE: Final = timedelta(minutes=10)


@contextmanager
def taking_leases(database: Database, host: Host, actor: str) -> Iterator[Callable[[], int]]:
    """Give what registers this process as a holder of leases, once and only if asked; it leaves at the end."""
    rows: list[int] = []

    def worker() -> int:
        if not rows:
            rows.append(_register(database, host, actor))
            UNDER_WAY.add(rows[0])
        return rows[0]

    try:
        yield worker
    finally:
        for row in rows:
            UNDER_WAY.discard(row)
            with suppress(Refusal), database.connection() as db:
                workers.leave(db, row)


@contextmanager
def held(scene: Scene, found: Interrupted, *, why: str) -> Iterator[Task | None]:
    """Hold a task by a lease of one's own; what goes wrong before it has moved gives the lease back.

    None where somebody was faster. A dry run takes nothing and gives the task as it is.
    """
    task = _as_it_is(scene, found) if scene.dry_run else _take_over(scene, found, why=why)
    try:
        yield task
    except BaseException:
        if task is not None and not scene.dry_run:
            with suppress(Refusal), scene.database.connection() as db:
                claims.give_up(db, task=task.id, epoch=task.lease_epoch)
        raise


def locked(db: Connection, task: Task) -> Task:
    """Lock a task that must still be ours; whoever slept past its own lease hears `LeaseLost`."""
    now = tasks.lock(db, task.id)
    if now.running_epoch != task.lease_epoch:
        raise LeaseLost(task=task.id, epoch=task.lease_epoch)
    return now


def _take_over(scene: Scene, found: Interrupted, *, why: str) -> Task | None:
    worker = scene.worker()
    with scene.database.connection() as db:
        taken = claims.take_over(
            db,
            task=found.id,
            epoch=found.lease_epoch,
            worker=worker,
            actor=scene.actor,
            lease=LEASE,
            proven_dead=found.dead,
            reason=why,
        )
    reach("taken_over")
    return taken


def _as_it_is(scene: Scene, found: Interrupted) -> Task | None:
    with scene.database.connection() as db:
        now = tasks.get(db, found.id)
    return now if now.running_epoch == found.lease_epoch else None


def _register(database: Database, host: Host, actor: str) -> int:
    with database.connection() as db:
        return workers.register(
            db,
            name=actor,
            host=host.id,
            boot_id=host.boot,
            pid=host.pid,
            started=host.started,
            kinds=[],
            executors=[],
            slots=1,
        ).id
