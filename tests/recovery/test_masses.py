"""Many lost tasks at once: one statement a page, nothing decided by it that settlement would decide otherwise."""

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from recovery import reports
from statemachine.attempts import StopReason
from statemachine.settlement import Isolation
from statemachine.tasks import TaskState
from store import attempts, recoveries, tasks
from store.engine import Database
from store.tasks import Task
from tests.factories import a_running_task, a_task, a_worker, an_attempt
from tests.recovery.scenes import a_dead_worker, everything, expire, launched, said, unsaid
from tests.store.scenes import asked, cancel, isolation_failed, moves, stop
from tests.workshop import Workshop

S = TaskState


def lost(database: Database, superuser_url: str, *, admitted: bool = False, **more: object) -> Task:
    """Claim a task by a worker of another host, and let its lease end."""
    held = a_running_task(database, a_task(database, **more))  # type: ignore[arg-type]
    if admitted:
        launched(database, an_attempt(database, held, launched=False), host="far")
    expire(superuser_url, held)
    return held


def requeued(database: Database, *, host: str = "here", **page: int) -> list[int]:
    with database.transaction() as db:
        rows = recoveries.requeue(db, host=host, dead=[], actor="recovery", **page)
    return [row.id for row in rows]


@pytest.mark.case("R01", "R02")
def test_it_moves_rows_lines_attempts_and_workspaces_at_once(database: Database, superuser_url: str) -> None:
    between, pending, elsewhere = (a_running_task(database) for _ in range(3))
    an_attempt(database, pending, launched=False)
    launched(database, an_attempt(database, elsewhere, launched=False), host="far")
    expire(superuser_url, between, pending, elsewhere)

    first, second = requeued(database), requeued(database)

    assert (first, second) == ([between.id, pending.id, elsewhere.id], [])
    for task, losses, reason in (
        (between, 0, "its worker was lost between items"),
        (pending, 1, "worker_lost"),
        (elsewhere, 1, "worker_lost"),
    ):
        with database.connection() as db:
            now = tasks.get(db, task.id)
        last = moves(database, task)[-1]
        assert (now.state, now.lease_worker, now.losses) == (S.queued, None, losses)
        assert (last.event, last.source, last.dest, last.reason) == ("requeue", "running", "queued", reason)
        assert now.spent > timedelta()
    assert asked(superuser_url, "SELECT task_id, state, unjudged FROM allocation") == [
        (elsewhere.id, "quarantined", True)
    ]


def with_a_stop(database: Database, task: Task) -> None:
    stop(database, task, StopReason.shutdown)


def with_a_finished_budget(database: Database, task: Task) -> None:
    with database.connection() as db:
        db.execute("UPDATE task SET budget = interval '1 microsecond' WHERE id = %s", (task.id,))


def with_a_new_context(database: Database, task: Task) -> None:
    with database.connection() as db:
        db.execute("UPDATE task SET context = context + 1, version = version + 1 WHERE id = %s", (task.id,))


def with_two_losses(database: Database, task: Task) -> None:
    with database.connection() as db:
        db.execute("UPDATE task SET losses = 2 WHERE id = %s", (task.id,))


def with_another_policy(database: Database, task: Task) -> None:
    with database.connection() as db:
        db.execute("UPDATE repository SET policy_version = policy_version + 1 WHERE id = %s", (task.repository_id,))


def with_an_isolation_failure(database: Database, task: Task) -> None:
    with database.connection() as db:
        attempt = attempts.active(db, task.id)
    assert attempt is not None
    isolation_failed(database, attempt, Isolation.timeout)


@pytest.mark.case("R01")
@pytest.mark.parametrize(
    "trouble",
    [
        with_a_stop,
        cancel,
        with_a_finished_budget,
        with_a_new_context,
        with_two_losses,
        with_another_policy,
        with_an_isolation_failure,
    ],
)
def test_whatever_else_is_to_be_weighed_is_left_to_settlement(
    database: Database, superuser_url: str, trouble: Callable[[Database, Task], object]
) -> None:
    task = lost(database, superuser_url, admitted=True)
    trouble(database, task)
    before = everything(superuser_url)

    assert requeued(database) == []
    assert everything(superuser_url) == before


@pytest.mark.case("R09", "R08")
def test_a_row_that_somebody_holds_is_passed_over(database: Database, superuser_url: str) -> None:
    held, free = (lost(database, superuser_url) for _ in range(2))

    with psycopg.connect(superuser_url) as other:
        other.execute("SELECT FROM task WHERE id = %s FOR UPDATE", (held.id,))
        first = requeued(database)

    assert (first, requeued(database)) == ([free.id], [held.id])


@pytest.mark.case("R08")
def test_a_task_that_moved_since_it_was_read_is_passed_over(database: Database, superuser_url: str) -> None:
    task = lost(database, superuser_url)
    with database.transaction() as db:
        db.execute("UPDATE task SET version = version + 1 WHERE id = %s", (task.id,))
        with database.session() as other:
            beaten = recoveries.requeue(other, host="here", dead=[], actor="recovery")

    assert beaten == []
    assert requeued(database) == [task.id]


@pytest.mark.case("R10", "R19")
def test_one_row_that_is_refused_stops_neither_its_page_nor_the_pages_after_it(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recoveries, "MASS", 2)
    held = [a_running_task(workshop.database, workshop.add("")) for _ in range(5)]
    expire(superuser_url, *held)
    bad = held[1]
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute("UPDATE task SET seq = seq + 1 WHERE id = %s", (bad.id,))

    report = workshop.recover()

    assert sorted(said(report)) == [(task.id, "queued") for task in held if task != bad]
    assert [task for task, _ in unsaid(report)] == [bad.id]
    assert workshop.look(bad).state is S.running


@pytest.mark.case("R19")
def test_a_report_names_the_first_of_many_and_counts_the_rest(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "LONGEST", 2)
    held = [a_running_task(workshop.database, workshop.add("")) for _ in range(5)]
    expire(superuser_url, *held)

    report = workshop.recover()

    assert said(report) == [(held[0].id, "queued"), (held[1].id, "queued"), (None, "queued")]
    assert report.lines[-1].detail == "queued: 3 more like these"
    assert [workshop.look(task).state for task in held] == [S.queued] * 5


@pytest.mark.case("R01")
def test_a_dead_process_of_this_host_is_said_to_be_gone_for_every_host(workshop: Workshop, superuser_url: str) -> None:
    worker, alive = a_dead_worker(workshop.database), a_worker(workshop.database)

    workshop.recover(dry_run=True)
    dry = asked(superuser_url, "SELECT state FROM worker WHERE id = %s", worker.id)
    workshop.recover()

    now = "SELECT state, gone_at IS NOT NULL, heartbeat_at = since FROM worker WHERE id = %s"
    assert dry == [("active",)]
    assert asked(superuser_url, now, worker.id) == [("gone", True, True)]
    assert asked(superuser_url, now, alive.id) == [("active", False, True)]
