"""Leases as the worker sees them: each with a deadline of its own clock, beaten from a thread of its own."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from statemachine.attempts import StopReason
from statemachine.refusals import LeaseLost, Refusal
from store import claims, listening, workers
from store.claims import Beat
from store.engine import Connection, Database
from store.listening import Bell

_BEATS_PER_LEASE = 3
_JITTER = 0.2
_AGAIN = timedelta(seconds=1)
_ENDING = timedelta(seconds=15)


def jittered(poll: timedelta) -> timedelta:
    """Vary a pause a little, so that workers that were started together do not ask together for ever."""
    return poll * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - nobody gains by guessing it


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
        return self.gone or self.overdue

    @property
    def overdue(self) -> bool:
        """Tell whether nothing is known of this lease any more: it was not beaten for its whole length."""
        return time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise `LeaseLost` where this lease can no longer be relied upon."""
        if self.lost:
            raise LeaseLost(task=self.task, epoch=self.epoch)


class Heartbeat:
    """Keep leases alive and hear hints, on one connection outside the pool.

    Stops, cancellations and new contexts are read every `poll` and at every hint, leases are extended every third
    of their length. While the database is away nothing is extended, and the deadlines tell. `called` is called, from
    the thread of the heartbeat, whenever there may be something to claim, and when somebody rang the bell.
    """

    def __init__(
        self,
        database: Database,
        *,
        worker: int,
        lease: timedelta,
        poll: timedelta,
        bell: Bell,
        called: Callable[[], None],
    ) -> None:
        self._database = database
        self._worker = worker
        self._lease = lease
        self._poll = poll
        self._called = called
        self._held: dict[int, Lease] = {}
        self._lock = threading.Lock()
        self._bell = bell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and let go of the connection with all it holds; raises `heartbeat_stuck` where the server keeps it."""
        self._ended.set()
        self._bell.ring()
        self._thread.join(_ENDING.total_seconds())
        if self._thread.is_alive():
            raise Refusal("heartbeat_stuck", "the heartbeat still waits for the database; it ends with the process")

    def hold(self, *, task: int, epoch: int, context: int, sent: float) -> Lease:
        """Begin to keep a lease that was asked for at `sent` on the monotonic clock."""
        held = Lease(task=task, epoch=epoch, context=context, deadline=sent + self._lease.total_seconds())
        with self._lock:
            self._held[task] = held
        return held

    def drop(self, lease: Lease) -> None:
        """Stop keeping a lease: the task moved on, or it is somebody else's."""
        with self._lock:
            if self._held.get(lease.task) is lease:
                del self._held[lease.task]

    def _keep(self) -> None:
        due = 0.0
        while not self._ended.is_set():
            try:
                due = self._beat_along(due)
            except Exception:  # noqa: BLE001 - whatever it was, leases must be beaten: connect again
                self._ended.wait(min(self._poll, _AGAIN).total_seconds())

    def _beat_along(self, due: float) -> float:
        """Beat on one connection until told to end; leases run out by their own deadlines while it fails."""
        with self._database.session() as db:
            listening.listen(db)
            self._called()
            signed = False
            while not self._ended.is_set():
                # After a cut line the server may hold the old connection's lock for a while: never wait for it.
                signed = signed or workers.try_lock(db, self._worker)
                due = self._turn(db, due)
                self._listen(db, time.monotonic() + jittered(self._poll).total_seconds())
        return due

    def _listen(self, db: Connection, until: float) -> None:
        """Pass on what may be claimed, until there is something to ask about the leases, or it is time to."""
        while (left := until - time.monotonic()) > 0:
            heard = listening.wait(db, self._bell, timedelta(seconds=left))
            if heard.queued or heard.rang:
                self._called()
            if heard.stop or heard.rang:
                return

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
