"""The service: register, recover, claim and drive up to so many tasks at once, and leave in order."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType

from statemachine.refusals import LostRace, Refusal, Unavailable
from statemachine.texts import one_line
from store import claims, workers
from store.engine import Database
from store.tasks import Task
from worker.leases import Heartbeat
from worker.settings import WorkSettings
from worker.station import Station
from worker.turns import drive
from workspace.agents.hosts import this_host
from workspace.disk.roots import Root

RECOVER_EVERY = timedelta(seconds=15)


def work(
    database: Database,
    root: Root,
    settings: WorkSettings,
    *,
    recover: Callable[[], object],
    say: Callable[[str], None],
    once: bool = False,
    task: int | None = None,
) -> None:
    """Work until told to stop (SIGTERM, SIGINT); `once`: until nothing is claimable; `task`: until that one rests.

    `recover` runs first and every 15 seconds. Must be called from the main thread to hear signals; a
    second signal skips no step.
    """
    with _registered(database, root, settings, say) as station, _signals(station):
        recover()
        _Loop(station, recover=recover, once=once, only=task).run()


class _Loop:
    """Claim into free slots; threads suffice, since the agents are processes."""

    def __init__(self, station: Station, *, recover: Callable[[], object], once: bool, only: int | None) -> None:
        self._station = station
        self._once = once or only is not None
        self._only = only
        self._busy: set[threading.Thread] = set()
        self._changed = threading.Condition()
        self._recovery = _Recovery(station, recover)
        self._away = False

    def run(self) -> None:
        """Claim until told to end; whatever happens, what was claimed comes to rest before this returns."""
        try:
            while not self._station.draining.is_set():
                if not self._fill() and not self._wait():
                    break
        except BaseException:
            self._station.draining.set()
            raise
        finally:
            self._drain()

    def _drain(self) -> None:
        """Await what was claimed; past the grace of a shutdown it stays for recovery, and nothing is lost."""
        patience = self._station.settings.grace.total_seconds() if self._station.draining.is_set() else None
        if patience is not None:
            with suppress(Refusal), self._station.database.connection() as db:
                workers.drain(db, self._station.worker)
        with self._changed:
            if not self._changed.wait_for(lambda: not self._busy, patience):
                self._station.say(f"{len(self._busy)} task(s) did not come to rest in time and stay for recovery")
        self._recovery.join()

    def _fill(self) -> bool:
        """Claim one task if there is room; tell whether there may be more."""
        if len(self._busy) >= self._station.settings.slots:
            return False
        sent = time.monotonic()
        task = self._claim_patiently()
        if task is None:
            return False
        self._start(task, sent)
        return True

    def _claim_patiently(self) -> Task | None:
        """Claim; a service outlives a database that is away for a while, a single run does not."""
        try:
            task = self._claim()
        except (Unavailable, LostRace) as away:
            if self._once:
                raise
            if not self._away:
                self._station.say(f"{away.message} [{away.code}]; trying again")
            self._away = True
            return None
        self._away = False
        return task

    def _claim(self) -> Task | None:
        settings = self._station.settings
        with self._station.database.connection() as db:
            return claims.claim(
                db,
                worker=self._station.worker,
                actor=self._station.actor,
                kinds=settings.kinds,
                executors=settings.executors,
                lease=settings.lease,
                task=self._only,
            )

    def _start(self, task: Task, sent: float) -> None:
        thread = threading.Thread(target=self._hold, args=(task, sent), name=f"task {task.id}", daemon=True)
        with self._changed:
            self._busy.add(thread)
        thread.start()

    def _hold(self, task: Task, sent: float) -> None:
        station = self._station
        lease = station.heartbeat.hold(task=task.id, epoch=task.lease_epoch, context=task.context, sent=sent)
        try:
            drive(station, task, lease)
        except Refusal as refused:
            self._leave(task, f"{refused.message} [{refused.code}]")
        except Exception as error:  # noqa: BLE001 - one task's trouble never ends the others
            self._leave(task, f"{type(error).__name__}: {one_line(str(error), 300)}")
        finally:
            station.heartbeat.drop(lease)
            with self._changed:
                self._busy.discard(threading.current_thread())
                self._changed.notify_all()

    def _leave(self, task: Task, why: str) -> None:
        """Leave a task to recovery, from where its rows say it is: the lease is given up, nothing else is touched."""
        self._station.say(f"task {task.id}: {why}; recovery takes it from here")
        with suppress(Refusal), self._station.database.connection() as db:
            claims.give_up(db, task=task.id, epoch=task.lease_epoch)

    def _wait(self) -> bool:
        """Wait for a slot, a task or a signal; tell whether to go on."""
        if self._once and not self._busy:
            return False
        with self._changed:
            self._changed.wait(self._station.settings.poll.total_seconds())
        if not self._once:
            self._recovery.run_when_due()
        return True


class _Recovery:
    """Run recovery passes beside the claims, never two at once; a pass that failed is told and comes again."""

    def __init__(self, station: Station, recover: Callable[[], object]) -> None:
        self._station = station
        self._recover = recover
        self._due = time.monotonic() + RECOVER_EVERY.total_seconds()
        self._thread: threading.Thread | None = None

    def run_when_due(self) -> None:
        if time.monotonic() < self._due or (self._thread and self._thread.is_alive()):
            return
        self._due = time.monotonic() + RECOVER_EVERY.total_seconds()
        self._thread = threading.Thread(target=self._pass, name="recovery")
        self._thread.start()

    def join(self) -> None:
        if self._thread:
            self._thread.join()

    def _pass(self) -> None:
        try:
            self._recover()
        except Refusal as refused:
            self._station.say(f"recovery: {refused.message} [{refused.code}]; trying again")


@contextmanager
def _registered(
    database: Database, root: Root, settings: WorkSettings, say: Callable[[str], None]
) -> Iterator[Station]:
    host = this_host()
    with database.connection() as db:
        row = workers.register(
            db,
            name=settings.name,
            host=host.id,
            boot_id=host.boot,
            pid=host.pid,
            started=host.started,
            kinds=[kind.value for kind in settings.kinds],
            executors=list(settings.executors),
            slots=settings.slots,
        )
    heartbeat = Heartbeat(database, worker=row.id, lease=settings.lease, poll=settings.poll)
    try:
        with heartbeat:
            yield Station(
                database=database,
                root=root,
                settings=settings,
                host=host,
                worker=row.id,
                heartbeat=heartbeat,
                say=say,
            )
    finally:
        with suppress(Refusal), database.connection() as db:
            workers.leave(db, row.id)


@contextmanager
def _signals(station: Station) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into draining, for as long as this runs in the main thread."""

    def drain(_number: int, _frame: FrameType | None) -> None:
        station.draining.set()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, drain) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
