"""The service: register, recover, claim and drive up to so many tasks at once, and leave in order."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import timedelta

from statemachine.failpoints import reach
from statemachine.refusals import LostRace, Refusal, Unavailable
from store import claims, workers
from store.engine import Database
from store.listening import Bell
from store.tasks import Task
from worker.farewells import Farewell, as_refusal
from worker.leases import jittered
from worker.presence import registered, signals
from worker.recoveries import Recover, Recovery
from worker.settings import WorkSettings
from worker.station import Sign, Station
from worker.turns import drive, put_back
from workspace.disk.roots import Root


def work(
    database: Database,
    root: Root,
    settings: WorkSettings,
    *,
    recover: Recover,
    say: Callable[[str], None],
    once: bool = False,
    task: int | None = None,
) -> None:
    """Work until told to stop (SIGTERM, SIGINT); `once`: until nothing is claimable; `task`: until that one rests.

    `recover` runs first and every 15 seconds, and is handed a function that tells when to stop between two rows.
    Must be called from the main thread to hear signals; a second signal skips no step. Raises `NotClean` where
    something was left undone after a signal.
    """
    draining = Sign()
    farewell = Farewell(told=draining, say=say)
    with (
        closing(Bell()) as bell,
        signals(draining, bell),
        registered(database, root, settings, draining=draining, bell=bell, farewell=farewell, say=say) as station,
    ):
        recover(draining.is_set)
        _Loop(station, farewell, recover=recover, once=once, only=task).run()
    farewell.end()


class _Loop:
    """Claim into free slots; threads suffice, since the agents are processes."""

    def __init__(self, station: Station, farewell: Farewell, *, recover: Recover, once: bool, only: int | None) -> None:
        self._station = station
        self._farewell = farewell
        self._once = once or only is not None
        self._only = only
        self._busy: dict[int, threading.Thread] = {}
        self._recovery = Recovery(station, recover)
        self._away = False
        self._doubtful = False

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
            self._leave()

    # ------------------------------------------------------------ claiming

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
            if self._doubtful:
                self._put_back(self._said)
            task = self._claim()
        except (Unavailable, LostRace) as away:
            # A claim whose answer was lost may hold a task that nobody drives.
            self._doubtful = True
            if self._once:
                raise
            if not self._away:
                self._station.say(f"{away.message} [{away.code}]; trying again")
            self._away = True
            return None
        self._away = self._doubtful = False
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

    def _put_back(self, apart: Callable[[str], AbstractContextManager[None]]) -> None:
        """Release what this worker holds and no thread drives, each task apart from the others."""
        for task in self._stray():
            with apart(f"task {task.id}"):
                put_back(self._station, task)

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        try:
            yield
        except Refusal as refused:
            self._station.say(f"{what}: {refused.message} [{refused.code}]")

    def _stray(self) -> list[Task]:
        with self._station.database.connection() as db:
            held = claims.held(db, worker=self._station.worker)
        return [task for task in held if task.id not in self._busy]

    def _wait(self) -> bool:
        """Wait for a slot, a task or a signal; tell whether to go on."""
        if self._once and not self._busy:
            return False
        self._station.call.wait(jittered(self._station.settings.poll))
        if not self._once:
            self._recovery.run_when_due()
        return True

    # ------------------------------------------------------------ driving

    def _start(self, task: Task, sent: float) -> None:
        thread = threading.Thread(target=self._hold, args=(task, sent), name=f"task {task.id}", daemon=True)
        self._busy[task.id] = thread
        try:
            thread.start()
        except BaseException:
            del self._busy[task.id]  # it is held and driven by nobody: put back on the way out
            raise

    def _hold(self, task: Task, sent: float) -> None:
        station = self._station
        lease = station.heartbeat.hold(task=task.id, epoch=task.lease_epoch, context=task.context, sent=sent)
        try:
            drive(station, task, lease)
        except Exception as error:  # noqa: BLE001 - one task's trouble never ends the others
            self._give_up(task, as_refusal(error))
        finally:
            station.heartbeat.drop(lease)
            if self._busy.get(task.id) is threading.current_thread():  # it may be claimed again by now
                del self._busy[task.id]
            station.call.make()

    def _give_up(self, task: Task, refused: Refusal) -> None:
        """Leave a task to recovery, from where its rows say it is: the lease is given up, nothing else is touched."""
        if self._station.draining.is_set():
            self._farewell.failed(f"task {task.id}", refused)
        else:
            self._station.say(f"task {task.id}: {refused.message} [{refused.code}]")
        self._station.say(f"task {task.id}: recovery takes it from here")
        with suppress(Refusal), self._station.database.connection() as db:
            claims.give_up(db, task=task.id, epoch=task.lease_epoch)

    # ------------------------------------------------------------ leaving

    def _leave(self) -> None:
        """Let everything claimed come to rest; past the grace of a shutdown it stays for recovery, nothing is lost."""
        step = self._farewell.step
        until = self._rest()
        reach("tasks_rested")
        with step("releasing what is held"):
            self._put_back(step)
        reach("tasks_put_back")
        with step("recovery"):
            self._recovery.end(until)
        reach("recovery_joined")

    def _rest(self) -> float:
        """Await what was claimed: to its end, or from a signal on for the grace; give when the grace is over."""
        station = self._station
        while self._busy and not station.draining.is_set():
            station.call.wait(station.settings.poll)
        until = time.monotonic() + station.settings.grace.total_seconds()
        if station.draining.is_set():
            with self._farewell.step("draining"), station.database.connection() as db:
                workers.drain(db, station.worker)
            reach("drain_written")
        while self._busy and (left := until - time.monotonic()) > 0:
            station.call.wait(min(station.settings.poll, timedelta(seconds=left)))
        if self._busy:
            late = Refusal(
                "grace_over", f"{len(self._busy)} task(s) did not come to rest in time and stay for recovery"
            )
            self._farewell.failed("shutdown", late)
        return until
