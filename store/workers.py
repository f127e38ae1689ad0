"""Workers: a row per process that may hold leases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from statemachine.refusals import NotFound
from statemachine.workers import WorkerState
from store.engine import Connection
from store.rows import many, one, run

# The first half of every worker's advisory lock key, so that no other program's lock is mistaken for one.
LOCK_SPACE = 0x57_4C_4B


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One process: where it runs, what it serves and when it was last heard of."""

    id: int
    name: str
    host: str
    boot_id: str
    pid: int
    started: str
    kinds: list[str]
    executors: list[str]
    slots: int
    state: WorkerState
    heartbeat_at: datetime
    since: datetime
    gone_at: datetime | None


def register(
    db: Connection,
    *,
    name: str,
    host: str,
    boot_id: str,
    pid: int,
    started: str,
    kinds: list[str],
    executors: list[str],
    slots: int,
) -> Worker:
    """Register this process; `started` is its start time as the kernel tells it, so that a pid is never mistaken."""
    registered = one(
        db,
        Worker,
        "register_worker",
        name=name,
        host=host,
        boot_id=boot_id,
        pid=pid,
        started=started,
        kinds=kinds,
        executors=executors,
        slots=slots,
    )
    assert registered is not None  # noqa: S101 - an INSERT ... RETURNING gives its row or raises
    return registered


def get(db: Connection, worker: int) -> Worker:
    """Read one worker."""
    found = one(db, Worker, "get_worker", worker=worker)
    if found is None:
        raise NotFound("worker_not_found", f"there is no worker {worker}", hint="tasks doctor")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    now: datetime


def clock(db: Connection) -> datetime:
    """Read the database's clock, by which heartbeats, starts and ends are written."""
    found = one(db, _Clock, "read_clock")
    assert found is not None  # noqa: S101 - a SELECT without FROM gives one row
    return found.now


def drain(db: Connection, worker: int) -> None:
    """Say that this worker takes nothing more."""
    run(db, "move_worker", worker=worker, state=WorkerState.draining)


def leave(db: Connection, worker: int) -> None:
    """Say that this worker is gone."""
    run(db, "move_worker", worker=worker, state=WorkerState.gone)


def present(db: Connection, *, host: str) -> list[Worker]:
    """List the processes of a host that did not say that they are gone."""
    return many(db, Worker, "list_present_workers", host=host)


def bury(db: Connection, dead: Sequence[int]) -> None:
    """Say of processes that are gone that they are: from here no host waits for their leases to end."""
    run(db, "bury_workers", workers=list(dead))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lock:
    free: bool


def try_lock(db: Connection, worker: int) -> bool:
    """Take this worker's sign of life for as long as this session lives; tell whether it was free."""
    found = one(db, _Lock, "take_worker_lock", space=LOCK_SPACE, worker=worker)
    return found is not None and found.free


def lock_is_free(db: Connection, worker: int) -> bool:
    """Tell whether nobody holds a worker's sign of life; by itself that proves nothing, a server restart frees all."""
    found = one(db, _Lock, "try_worker_lock", space=LOCK_SPACE, worker=worker)
    return found is not None and found.free
