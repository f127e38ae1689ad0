"""Presence: a worker's row, its heartbeat and its ears for signals, for as long as it works."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from statemachine.failpoints import reach
from store import workers
from store.engine import Database
from store.listening import Bell
from worker.farewells import Farewell
from worker.leases import Heartbeat
from worker.settings import WorkSettings
from worker.station import Call, Sign, Station
from workspace.agents.hosts import this_host
from workspace.disk.roots import Root


@contextmanager
def registered(
    database: Database,
    root: Root,
    settings: WorkSettings,
    *,
    draining: Sign,
    bell: Bell,
    farewell: Farewell,
    say: Callable[[str], None],
) -> Iterator[Station]:
    """Register this process and keep its leases; at the end let go of them and sign off, whatever became of either."""
    host, call = this_host(), Call()
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
    heartbeat = Heartbeat(
        database, worker=row.id, lease=settings.lease, poll=settings.poll, bell=bell, called=call.make
    )
    heartbeat.start()
    try:
        yield Station(
            database=database,
            root=root,
            settings=settings,
            host=host,
            worker=row.id,
            heartbeat=heartbeat,
            say=say,
            draining=draining,
            call=call,
        )
    finally:
        with farewell.step("stopping the heartbeat"):
            heartbeat.stop()
        reach("heartbeat_ended")
        with farewell.step("signing off"), database.connection() as db:
            workers.leave(db, row.id)
        reach("worker_gone")


@contextmanager
def signals(draining: Sign, bell: Bell) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into draining, where this runs in the main thread.

    Once one was heard no other does anything, for as long as the process lives: what is left to do is to leave.
    """

    def drain(_number: int, _frame: FrameType | None) -> None:
        draining.set()
        bell.ring()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, drain) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if not draining.is_set():
            for number, handler in before.items():
                signal.signal(number, handler)
