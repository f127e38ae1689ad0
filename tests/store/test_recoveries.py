"""What recovery finds, and what settling for a dead worker makes of it: the rows of its table that need no disk."""

from typing import Any

import pytest

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.gates import GateKind
from statemachine.tasks import TaskEvent, TaskState
from store import attempts, claims, recoveries, tasks, workers
from store.engine import Database
from store.settlements import Settled
from store.tasks import Task
from tests.factories import (
    LEASE,
    a_done_item,
    a_plan,
    a_registered_repository,
    a_running_task,
    a_settled,
    a_task,
    a_task_at_gate,
    a_worker,
    an_approved_task,
    an_attempt,
    an_item,
)
from tests.store.scenes import DONE, HOUR, LOST, UNSAFE, aged, cancel, events, owed, seen, stop, the_attempt

S, A, E = TaskState, AttemptState, TaskEvent


def found(database: Database, **page: Any) -> list[int]:
    with database.connection() as db:
        return [row.id for row in recoveries.interrupted(db, **page)]


def expire(superuser_url: str) -> None:
    aged(superuser_url, "UPDATE task SET lease_expires = now() - interval '1 second' WHERE state = 'running'")


def taken_over(database: Database, task: Task) -> Task:
    """Take a task over whose lease is dead."""
    with database.connection() as db:
        taken = claims.take_over(
            db,
            task=task.id,
            epoch=task.lease_epoch,
            worker=a_worker(database).id,
            actor="recovery",
            lease=LEASE,
            proven_dead=True,
            reason="its worker is gone",
        )
    assert taken is not None
    return taken


def recovered(database: Database, task: Task, **report: Any) -> Settled:
    """Settle what a dead worker left, as recovery does."""
    taken = taken_over(database, task)
    with database.connection() as db:
        attempt = attempts.active(db, task.id)
    return a_settled(database, taken, attempt, **{**LOST, **report})


@pytest.mark.case("R01", "R09")
def test_only_running_tasks_with_a_dead_lease_are_found_or_those_of_a_worker_proven_dead(
    database: Database, superuser_url: str
) -> None:
    dead = a_running_task(database)
    expire(superuser_url)
    alive = a_running_task(database)
    for kind in GateKind:
        a_task_at_gate(database, kind)
    a_task(database)
    an_approved_task(database)

    anywhere, here = found(database), found(database, dead=[alive.lease_worker])

    assert (anywhere, here) == ([dead.id], [dead.id, alive.id])


@pytest.mark.case("R01")
def test_a_task_whose_worker_said_it_is_gone_is_found_at_once(database: Database) -> None:
    task = a_running_task(database)
    assert task.lease_worker is not None

    with database.connection() as db:
        workers.leave(db, task.lease_worker)

    assert found(database) == [task.id]


@pytest.mark.case("R19")
def test_what_is_found_comes_page_by_page_in_key_order(database: Database, superuser_url: str) -> None:
    running = [a_running_task(database).id for _ in range(3)]
    expire(superuser_url)

    pages = [found(database, limit=2), found(database, after=running[1], limit=2), found(database, after=running[2])]

    assert pages == [running[:2], running[2:], []]


@pytest.mark.case("R01")
@pytest.mark.parametrize("launched", [True, False])
def test_an_attempt_of_a_dead_worker_is_interrupted_and_its_task_queued(database: Database, *, launched: bool) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task, launched=launched)

    settled = recovered(database, task)

    assert (the_attempt(database, attempt).state, settled.task.state) == (A.interrupted, S.queued)
    assert (settled.task.failures, settled.task.losses) == (0, 1)
    assert events(database, task) == ["add", "claim", "take_over", "requeue"]


@pytest.mark.case("R01", "R05", "F16")
def test_what_recovery_finds_in_the_tree_stops_the_task(database: Database) -> None:
    task = a_running_task(database)
    an_attempt(database, task)

    settled = recovered(database, task, **UNSAFE)

    assert (settled.attempt_state, settled.task.state, len(owed(database, task))) == (A.interrupted, S.needs_human, 1)


@pytest.mark.case("R01")
@pytest.mark.parametrize(
    ("why", "state", "event"),
    [
        (StopReason.user, A.cancelled, E.halt),
        (StopReason.time_limit, A.cancelled, E.hit_limit),
        (StopReason.stale, A.stale, E.requeue),
        (StopReason.shutdown, A.stopped, E.requeue),
    ],
)
def test_a_stop_the_dead_worker_was_asked_for_still_counts(
    database: Database, why: StopReason, state: AttemptState, event: TaskEvent
) -> None:
    task = a_running_task(database)
    an_attempt(database, task)
    stop(database, task, why)

    settled = recovered(database, task)

    assert (settled.attempt_state, settled.event) == (state, event)


@pytest.mark.case("R01")
def test_a_cancellation_the_dead_worker_was_asked_for_closes_the_task(database: Database) -> None:
    task = a_running_task(database)
    an_attempt(database, task)
    cancel(database, task)

    settled = recovered(database, task)

    assert (settled.attempt_state, settled.task.state) == (A.cancelled, S.cancelled)


@pytest.mark.case("R01")
@pytest.mark.parametrize(("retries", "event"), [(1, E.requeue), (0, E.give_up)])
def test_a_failure_that_was_stored_before_the_worker_died_uses_a_retry(
    database: Database, retries: int, event: TaskEvent
) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=retries)))
    attempt = an_attempt(database, task)
    with database.connection() as db:
        attempts.note_isolation_failure(db, attempt, "timeout")

    settled = recovered(database, task)

    assert (settled.attempt_state, settled.event, settled.task.failures) == (A.failed, event, 1)


@pytest.mark.case("R04")
def test_an_equal_result_is_settled_as_the_worker_would_have_and_the_task_queued(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item("P1"), an_item("P2")))
    an_attempt(database, task)

    settled = recovered(database, task, **DONE, recovered=False, next_kind=AttemptKind.execute)

    assert (settled.attempt_state, settled.event, settled.task.state) == (A.completed, E.requeue, S.queued)
    assert settled.task.head != task.base


@pytest.mark.case("R01", "R02")
@pytest.mark.parametrize("done", [False, True])
def test_a_task_between_items_is_queued_again(database: Database, *, done: bool) -> None:
    task = a_running_task(database)
    if done:
        a_done_item(database, task)
    taken = taken_over(database, seen(database, task))

    with database.connection() as db:
        queued = tasks.move(db, taken, E.requeue, actor="recovery", epoch=taken.lease_epoch)

    assert (queued.state, queued.lease_worker, queued.losses) == (S.queued, None, 0)


@pytest.mark.case("R01")
def test_queued_tasks_without_budget_are_found(database: Database, superuser_url: str) -> None:
    spent, fresh = (a_task(database, plan=a_plan(budget=HOUR)) for _ in range(2))
    aged(superuser_url, "UPDATE task SET spent = budget WHERE id = %s", spent.id)

    with database.connection() as db:
        exhausted = recoveries.exhausted(db)

    assert [task.id for task in exhausted] == [spent.id]
    assert fresh.state is S.queued


@pytest.mark.case("R13")
def test_heads_of_open_tasks_and_owners_of_attempts_are_what_refs_are_repaired_from(database: Database) -> None:
    repository = a_registered_repository(database)
    done = a_done_item(database, a_running_task(database, repository=repository))
    cancel(database, a_task(database, repository=repository))
    a_task(database)
    active = an_attempt(database, a_running_task(database, repository=repository))

    with database.connection() as db:
        heads = recoveries.heads(db, repository.id)
        ended = attempts.listing(db, done.id)[0]
        owners = recoveries.owners(db, [ended.id, active.id, active.allocation_id or active.id])

    assert [(row.id, row.head, row.base) for row in heads] == [
        (done.id, done.head, done.base),
        (active.task_id, active.base, active.base),
    ]
    assert {owner.id: (owner.task_id, owner.ended) for owner in owners} == {
        ended.id: (done.id, True),
        active.id: (active.task_id, False),
    }
