"""Hints: told with the move that gives them, carrying a number, and to nobody where nothing became claimable."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from statemachine.attempts import StopReason
from statemachine.gates import GateKind
from statemachine.refusals import Unavailable
from statemachine.settlement import Outcome
from statemachine.tasks import TaskEvent
from store import claims, interventions, listening, tasks
from store.engine import Connection, Database
from store.listening import Bell, Heard
from store.tasks import Task
from tests.factories import LEASE, a_running_task, a_settled, a_task, a_task_at_gate, a_worker, an_attempt
from tests.store.scenes import approved, asked, stop

AT_ONCE = timedelta(0)
LONG = timedelta(minutes=1)
QUEUED, STOP = listening.QUEUED, listening.STOP


@pytest.fixture
def session(database: Database) -> Iterator[Connection]:
    with database.session() as db:
        listening.listen(db)
        yield db


@pytest.fixture
def bell() -> Iterator[Bell]:
    made = Bell()
    yield made
    made.close()


def told(db: Connection) -> list[tuple[str, str]]:
    """List what was told so far: everything before a last word of our own."""
    db.execute("SELECT pg_notify(%s, 'last word')", (STOP,))
    heard = []
    for notice in db.notifies():
        if notice.payload == "last word":
            break
        heard.append((notice.channel, notice.payload))
    return heard


# ---------------------------------------------------------------- what is told


def test_a_task_that_is_added_is_told_by_its_number(database: Database, session: Connection) -> None:
    task = a_task(database)

    assert told(session) == [(QUEUED, str(task.id))]


def by_retry(database: Database) -> Task:
    return approved(database, a_task_at_gate(database, GateKind.failure))


def by_release(database: Database) -> Task:
    task = a_running_task(database)
    with database.connection() as db:
        return tasks.move(db, task, TaskEvent.release, actor="w", epoch=task.lease_epoch)


def by_requeue(database: Database) -> Task:
    task = a_running_task(database)
    with database.connection() as db:
        return tasks.move(db, task, TaskEvent.requeue, actor="recovery", epoch=task.lease_epoch)


@pytest.mark.parametrize("queued", [by_retry, by_release, by_requeue])
def test_a_task_that_is_queued_again_is_told_again(
    database: Database, session: Connection, queued: Callable[[Database], Task]
) -> None:
    task = queued(database)

    assert told(session) == [(QUEUED, str(task.id))] * 2


def test_a_stop_and_a_cancellation_are_told_once_each(database: Database, session: Connection) -> None:
    task = a_running_task(database)
    told(session)

    stop(database, task, StopReason.user)
    stop(database, task, StopReason.shutdown)
    with database.transaction() as db:
        interventions.cancel(db, task.id, actor="rev", reason="")

    assert told(session) == [(STOP, str(task.id))] * 2


@pytest.mark.case("S12")
def test_what_is_rolled_back_is_told_to_nobody(database: Database, session: Connection) -> None:
    task = a_running_task(database)
    told(session)

    def ask_and_fail() -> None:
        with database.transaction() as db:
            claims.request_stop(db, task=task.id, why=StopReason.user, actor="rev")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask_and_fail()

    assert told(session) == []


def test_nothing_between_a_claim_and_a_submission_is_told(database: Database, session: Connection) -> None:
    queued = a_task(database)
    told(session)
    with database.connection() as db:
        task = claims.claim(
            db, worker=a_worker(database).id, actor="w", kinds=[queued.next_kind], executors=["local"], lease=LEASE
        )
    assert task is not None

    settled = a_settled(database, task, an_attempt(database, task), outcome=Outcome.committed, exit_code=0)
    with database.connection() as db:
        claims.beat(db, worker=task.lease_worker or 0, held=[(task.id, task.lease_epoch)], lease=LEASE)

    assert settled.task.id == task.id
    assert told(session) == []


# ---------------------------------------------------------------- who hears it


def test_whoever_waits_hears_it(database: Database, session: Connection, bell: Bell) -> None:
    task = a_running_task(database)
    told(session)

    stop(database, task, StopReason.user)

    assert listening.wait(session, bell, LONG) == Heard(queued=False, stop=True, rang=False)
    assert listening.wait(session, bell, AT_ONCE) == Heard(queued=False, stop=False, rang=False)


def test_a_hint_that_comes_in_beside_an_answer_is_heard(database: Database, session: Connection, bell: Bell) -> None:
    a_task(database)

    session.execute("SELECT pg_notify('weighlock_stop', '')")  # its own comes after all that were told before it

    assert listening.wait(session, bell, LONG).queued


def test_a_bell_wakes_whoever_waits_however_often_it_rang(session: Connection, bell: Bell) -> None:
    for _ in range(100_000):
        bell.ring()

    first = listening.wait(session, bell, LONG)
    while bell.hush():
        pass

    assert first.rang
    assert not listening.wait(session, bell, AT_ONCE).rang


def test_a_bell_that_was_taken_down_wakes_nobody() -> None:
    bell = Bell()
    bell.close()

    bell.ring()


def test_a_session_that_was_ended_says_so_instead_of_waiting(
    database: Database, superuser_url: str, bell: Bell
) -> None:
    def wait_on_a_dead_line() -> None:
        with database.session() as db:
            listening.listen(db)
            asked(superuser_url, "SELECT pg_terminate_backend(%s, 5000)", db.info.backend_pid)
            listening.wait(db, bell, LONG)

    with pytest.raises(Unavailable):
        wait_on_a_dead_line()
