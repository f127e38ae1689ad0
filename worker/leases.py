"""Leases as the worker sees them: each with a deadline of its own clock, beaten from a thread of its own."""

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from statemachine.attempts import StopReason
from statemachine.refusals import LeaseLost
from store import claims, workers
from store.claims import Beat
from store.engine import Connection, Database

_BEATS_PER_LEASE = 3


@dataclass(slots=True, kw_only=True, eq=False)
class Lease:
    """One held task. Written by the heartbeat only, read by the thread that drives the task.

    `deadline` is on the monotonic clock and counted from the moment the beat was *sent*, so it passes
    before the database's own does.
    """

    task: int
    epoch: int
    deadline: float
    context: int
    stop: StopReason | None = None
    cancel: bool = False
    gone: bool = False

    @property
    def lost(self) -> bool:
        """Tell whether this lease may belong to somebody else by now."""
        return self.gone or time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise `LeaseLost` where this lease can no longer be relied upon."""
        if self.lost:
            raise LeaseLost(task=self.task, epoch=self.epoch)


class Heartbeat:
    """Keep leases alive on a connection outside the pool; use it as a context manager.

    Stops, cancellations and new contexts are read every `poll`, leases are extended every third of their
    length. While the database is away nothing is extended, and the deadlines tell.
    """

    def __init__(self, database: Database, *, worker: int, lease: timedelta, poll: timedelta) -> None:
        self._database = database
        self._worker = worker
        self._lease = lease
        self._poll = poll
        self._held: dict[int, Lease] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def hold(self, *, task: int, epoch: int, context: int, sent: float) -> Lease:
        """Begin to keep a lease that was asked for at `sent` on the monotonic clock."""
        held = Lease(task=task, epoch=epoch, context=context, deadline=sent + self._lease.total_seconds())
        with self._lock:
            self._held[task] = held
        return held

    def drop(self, lease: Lease) -> None:
        """Stop keeping a lease: the task moved on, or it is somebody else's."""
        with self._lock:
            self._held.pop(lease.task, None)

    def _keep(self) -> None:
        due = 0.0
        while not self._ended.is_set():
            try:
                due = self._beat_along(due)
            except Exception:  # noqa: BLE001 - whatever it was, leases must be beaten: connect again
                self._ended.wait(self._poll.total_seconds())

    def _beat_along(self, due: float) -> float:
        """Beat on one connection until told to end; leases run out by their own deadlines while it fails."""
        with self._database.session() as db:
            signed = False
            while not self._ended.wait(self._poll.total_seconds()):
                # After a cut line the server may hold the old connection's lock for a while: never wait for it.
                signed = signed or workers.try_lock(db, self._worker)
                due = self._turn(db, due)
        return due

    def _turn(self, db: Connection, due: float) -> float:
        now = time.monotonic()
        held = self._snapshot()
        if now < due:
            self._learn(held, claims.signals(db, held=_pairs(held)) if held else [], extended=None)
            return due
        answers = claims.beat(db, worker=self._worker, held=_pairs(held), lease=self._lease)
        self._learn(held, answers, extended=now + self._lease.total_seconds())
        return now + self._lease.total_seconds() / _BEATS_PER_LEASE

    def _snapshot(self) -> list[Lease]:
        with self._lock:
            return list(self._held.values())

    def _learn(self, held: list[Lease], answers: list[Beat], *, extended: float | None) -> None:
        heard = {(beat.id, beat.lease_epoch): beat for beat in answers}
        for lease in held:
            beat = heard.get((lease.task, lease.epoch))
            if beat is None:
                lease.gone = self._still_held(lease)
                continue
            lease.stop, lease.cancel = beat.stop_reason, beat.cancel_requested
            lease.context = max(lease.context, beat.context)
            lease.deadline = extended or lease.deadline

    def _still_held(self, lease: Lease) -> bool:
        """A lease dropped while the beat was under way is not lost; one still held that got no answer is."""
        with self._lock:
            return self._held.get(lease.task) is lease


def _pairs(held: list[Lease]) -> list[tuple[int, int]]:
    return [(lease.task, lease.epoch) for lease in held]
