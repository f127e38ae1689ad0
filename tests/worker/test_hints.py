"""Hints make a worker quick, and asking makes it sure: with the one it need not wait, without them it still works."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from statemachine.attempts import AttemptState, StopReason
from statemachine.tasks import TaskState
from store import interventions
from store.engine import Database, open_database
from store.listening import Bell
from tests.factories import LEASE, a_running_task, a_task, a_worker
from tests.proxies import Proxy
from tests.recovery.scenes import until
from tests.store.scenes import stop
from tests.workshop import PATIENCE, Workshop
from worker.leases import Heartbeat

NEVER = timedelta(hours=1)
EDIT = "open('a.txt', 'a').write('x\\n')\n"


class Beating:
    """A heartbeat that asks for nothing by itself within a test, and what it called."""

    def __init__(self, database: Database) -> None:
        self.called = threading.Event()
        self.bell = Bell()
        self.worker = a_worker(database)
        self.heartbeat = Heartbeat(
            database, worker=self.worker.id, lease=LEASE, poll=NEVER, bell=self.bell, called=self.called.set
        )

    def hears_a_call(self) -> None:
        assert self.called.wait(PATIENCE.total_seconds()), "nobody called"
        self.called.clear()


@contextmanager
def beating(database: Database) -> Iterator[Beating]:
    made = Beating(database)
    made.heartbeat.start()
    try:
        made.hears_a_call()  # it listens
        yield made
    finally:
        made.heartbeat.stop()
        made.bell.close()


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    between = Proxy(database_url)
    yield between
    between.close()


@pytest.fixture
def through(proxy: Proxy, tmp_path: Path) -> Iterator[Database]:
    """Open the test's database through the proxy."""
    opened = open_database(proxy.url, state=tmp_path, name="test", patience=PATIENCE)
    yield opened
    opened.close()


def test_whoever_begins_to_listen_calls_once_for_what_came_before(database: Database) -> None:
    with beating(database) as made:
        assert made.heartbeat is not None


def test_a_task_that_is_added_calls_an_idle_worker(database: Database) -> None:
    with beating(database) as made:
        a_task(database)

        made.hears_a_call()


def test_a_stop_is_known_without_asking(database: Database) -> None:
    with beating(database) as made:
        task = a_running_task(database, worker=made.worker)
        lease = made.heartbeat.hold(task=task.id, epoch=task.lease_epoch, context=task.context, sent=time.monotonic())

        stop(database, task, StopReason.user)

        until(lambda: lease.stop is StopReason.user, "the stop is known")


def test_a_listener_whose_line_is_cut_listens_again_and_looks_up_what_it_missed(
    database: Database, through: Database, proxy: Proxy, superuser_url: str
) -> None:
    with beating(through) as made:
        task = a_running_task(database, worker=made.worker)
        lease = made.heartbeat.hold(task=task.id, epoch=task.lease_epoch, context=task.context, sent=time.monotonic())
        with psycopg.connect(superuser_url, autocommit=True) as admin:
            admin.execute("ALTER TABLE task DISABLE TRIGGER task_guard")
        stop(database, task, StopReason.user)

        made.called.clear()
        proxy.cut()

        made.hears_a_call()
        until(lambda: lease.stop is StopReason.user, "the stop is known")


# ---------------------------------------------------------------- real workers


@pytest.fixture
def deaf(superuser_url: str) -> None:
    """Let nobody be told anything: the guards that tell are switched off."""
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        for name in ("task_begin", "task_guard"):
            admin.execute(f"ALTER TABLE task DISABLE TRIGGER {name}".encode())


def test_a_worker_that_hears_nothing_claims_and_stops_all_the_same(workshop: Workshop, deaf: None) -> None:
    with workshop.serving() as service:
        task = workshop.add("turn == 1 and (ring(), hold())\n" + EDIT)
        workshop.heard()
        with workshop.database.transaction() as db:
            interventions.stop(db, task.id, actor="rev")
        until(lambda: workshop.look(task).state is TaskState.needs_human, "it stopped")
        service.terminate()

    assert service.wait() == 0
    assert workshop.attempts(task)[0].state is AttemptState.cancelled


def test_whoever_lives_as_long_as_its_line_goes_past_the_pooler(
    workshop: Workshop, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = Proxy(workshop.url)
    monkeypatch.setenv("TASKS_DIRECT_DATABASE_URL", direct.url)
    with workshop.serving(url=proxy.url) as service:
        until(lambda: direct.count("LISTEN ") == 2 and direct.count("sign of life"), "it listens")
        until(lambda: proxy.count("Claim the next"), "it claims")
        service.terminate()
    direct.close()

    assert (proxy.count("LISTEN "), proxy.count("sign of life")) == (0, 0)
    assert direct.count("Claim the next") == 0


def test_an_idle_worker_asks_once_for_each_poll_and_says_nothing_else(workshop: Workshop, proxy: Proxy) -> None:
    with workshop.serving(url=proxy.url) as service:
        until(lambda: proxy.count("Claim the next") >= 2, "it claims")
        before, asked_before = proxy.statements, proxy.count("Claim the next")
        until(lambda: proxy.count("Claim the next") >= asked_before + 5, "it goes on claiming")
        said, claims = proxy.statements - before, proxy.count("Claim the next") - asked_before
        service.terminate()

    assert said - claims <= 1  # a heartbeat may fall between


def test_a_recovery_pass_that_finds_nothing_asks_few_questions(
    workshop: Workshop, through: Database, proxy: Proxy
) -> None:
    workshop.run(EDIT)
    workshop.database = through
    workshop.recover()
    before = proxy.statements

    workshop.recover()

    # One every 15 seconds, beside a claim every second and a beat every 30: together at most three a second.
    assert proxy.statements - before <= 25
