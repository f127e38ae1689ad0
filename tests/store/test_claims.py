"""Claims: which task is offered to whom, what a budget does to it, and how a lease is kept."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from statemachine.attempts import AttemptKind, StopReason
from statemachine.gates import GateKind
from statemachine.tasks import TaskEvent, TaskState
from store import allocations, attempts, claims, tasks
from store.engine import Database
from store.tasks import Task
from tests.factories import (
    LEASE,
    a_done_item,
    a_plan,
    a_running_task,
    a_settled,
    a_task,
    a_task_at_gate,
    a_worker,
    an_approved_task,
    an_attempt,
)
from tests.store.scenes import HOUR, UNSAFE, aged, approved, events, moves, seen, stop, the_gate

KINDS = tuple(AttemptKind)


def claimed(
    database: Database,
    *,
    kinds: Sequence[AttemptKind] = KINDS,
    executors: Sequence[str] = ("local",),
    task: Task | None = None,
) -> Task | None:
    """Claim what is due, as a worker of these kinds and executors."""
    worker = a_worker(database)
    with database.connection() as db:
        given: dict[str, Any] = {"worker": worker.id, "actor": "w1", "lease": LEASE, "task": task.id if task else None}
        return claims.claim(db, kinds=kinds, executors=executors, **given)


@pytest.mark.case("A01")
def test_only_queued_tasks_are_offered(database: Database) -> None:
    resting = [a_task_at_gate(database, kind) for kind in GateKind]
    resting += [an_approved_task(database), a_running_task(database)]

    offered = claimed(database)

    assert offered is None
    with database.connection() as db:
        assert all(attempts.active(db, task.id) is None for task in resting)


def test_a_claim_takes_a_lease_an_epoch_and_a_line(database: Database) -> None:
    task = a_task(database)

    held = claimed(database)

    assert held is not None
    assert (held.id, held.state, held.lease_epoch, held.version) == (task.id, "running", 1, task.version + 1)
    assert held.lease_expires is not None
    assert (moves(database, task)[-1].event, moves(database, task)[-1].actor) == ("claim", "w1")


def test_the_most_urgent_then_the_longest_waiting_task_is_offered_first(database: Database, superuser_url: str) -> None:
    later, urgent, old = a_task(database), a_task(database, priority=5), a_task(database)
    aged(superuser_url, "UPDATE task SET available_at = available_at - interval '1 day' WHERE id = %s", old.id)

    order = [claimed(database) for _ in range(3)]

    assert [task.id if task else None for task in order] == [urgent.id, old.id, later.id]


def test_a_task_is_offered_once_its_time_has_come(database: Database, superuser_url: str) -> None:
    task = a_task(database)
    aged(superuser_url, "UPDATE task SET available_at = now() + interval '1 hour'")

    before = claimed(database)
    aged(superuser_url, "UPDATE task SET available_at = now() - interval '1 hour'")
    after = claimed(database)

    assert before is None
    assert after is not None
    assert after.id == task.id


@pytest.mark.case("A12")
@pytest.mark.parametrize(
    ("kinds", "executors"),
    [
        ((AttemptKind.execute, AttemptKind.fix), ("local",)),
        ((AttemptKind.check,), ("docker", "ssh")),
        ((), ("local",)),
    ],
)
def test_work_of_a_kind_or_executor_nobody_serves_is_refused_before_any_row(
    database: Database, kinds: tuple[AttemptKind, ...], executors: tuple[str, ...]
) -> None:
    task = a_running_task(database, plan=a_plan(checks=("true",)))
    a_done_item(database, task, next_kind=AttemptKind.check, draining=True)
    before = seen(database, task)

    offered = claimed(database, kinds=kinds, executors=executors)
    served = claimed(database, kinds=(AttemptKind.check,))

    assert offered is None
    assert served is not None
    assert served.version == before.version + 1


def test_a_worker_that_wants_one_task_gets_no_other(database: Database) -> None:
    wanted, other = a_running_task(database), a_task(database)

    offered = claimed(database, task=wanted)

    assert offered is None
    assert seen(database, other).state is TaskState.queued


# ---------------------------------------------------------------- budgets


@pytest.mark.case("A10")
def test_a_claim_sends_a_task_without_budget_to_its_limit_gate_and_takes_the_next(
    database: Database, superuser_url: str
) -> None:
    spent, other = a_task(database, plan=a_plan(budget=HOUR), priority=1), a_task(database)
    aged(superuser_url, "UPDATE task SET spent = budget WHERE id = %s", spent.id)

    held = claimed(database)

    assert held is not None
    assert held.id == other.id
    assert (seen(database, spent).state, the_gate(database, spent).kind) == (TaskState.needs_human, GateKind.limit)
    assert events(database, spent) == ["add", "hit_limit"]
    assert moves(database, spent)[-1].reason == "the budget is spent"


def test_a_limit_that_somebody_else_already_noticed_is_nobodys_error(database: Database, superuser_url: str) -> None:
    task = a_task(database, plan=a_plan(budget=HOUR))
    aged(superuser_url, "UPDATE task SET spent = budget WHERE id = %s", task.id)
    with database.connection() as db:
        claims.hit_limit(db, task, actor="w1")

    with database.connection() as db:
        claims.hit_limit(db, task, actor="w2")

    assert events(database, task) == ["add", "hit_limit"]


@pytest.mark.case("A09")
def test_only_time_in_running_uses_the_budget(database: Database, superuser_url: str) -> None:
    task = a_running_task(database, plan=a_plan(budget=HOUR))
    attempt = an_attempt(database, task)
    aged(superuser_url, "UPDATE task SET running_since = running_since - interval '10 minutes'")
    resting = a_settled(database, task, attempt, **UNSAFE).task
    for what in ("gate SET opened_at = opened_at", "task SET available_at = available_at", "task_event SET at = at"):
        aged(superuser_url, f"UPDATE {what} - interval '12 hours'")

    queued = approved(database, resting, dismiss_all=True, reason="harmless")
    held = a_running_task(database, queued)

    assert timedelta(minutes=10) <= held.spent < timedelta(minutes=11)
    assert held.spent == queued.spent


def test_the_budget_that_is_left_comes_back_with_the_launch(database: Database, superuser_url: str) -> None:
    task = a_running_task(database, plan=a_plan(budget=HOUR))
    aged(superuser_url, "UPDATE task SET running_since = running_since - interval '10 minutes'")

    left = launched(database, task).budget_left

    assert left is not None
    assert timedelta(minutes=49) < left <= timedelta(minutes=50)


def launched(database: Database, task: Task) -> attempts.Launched:
    attempt = an_attempt(database, task, launched=False)
    with database.transaction() as db:
        place = allocations.reserve(db, attempt, allocation=uuid4(), host="h")
        ready = allocations.ready(db, place, epoch=attempt.epoch, path="/p", base=attempt.base, baseline="{}")
        return attempts.launch(db, attempt, allocation=ready.id, generation=1, links_digest=None)


# ---------------------------------------------------------------- leases


def test_a_beat_extends_what_is_held_and_brings_back_what_to_act_on(database: Database, superuser_url: str) -> None:
    worker = a_worker(database)
    kept, stopped, gone = (a_running_task(database, worker=worker) for _ in range(3))
    stop(database, stopped, StopReason.user, "rev")
    aged(superuser_url, "UPDATE task SET lease_expires = now() - interval '1 second' WHERE id = %s", gone.id)
    pairs = [(task.id, task.lease_epoch) for task in (kept, stopped, gone)] + [(kept.id, kept.lease_epoch + 1)]

    with database.connection() as db:
        beats = claims.beat(db, worker=worker.id, held=pairs, lease=HOUR)

    assert {beat.id: beat.stop_reason for beat in beats} == {kept.id: None, stopped.id: StopReason.user}
    assert all(beat.lease_expires - now_of(database) > timedelta(minutes=50) for beat in beats)


def now_of(database: Database) -> Any:
    with database.connection() as db:
        row = db.execute("SELECT clock_timestamp() AS now").fetchone()
    assert row is not None
    return row["now"]


def test_a_beat_changes_no_version_and_never_another_workers_lease(database: Database) -> None:
    task = a_running_task(database)
    other = a_worker(database)

    with database.connection() as db:
        assert task.lease_worker is not None
        claims.beat(db, worker=task.lease_worker, held=[(task.id, 1)], lease=HOUR)
        stolen = claims.beat(db, worker=other.id, held=[(task.id, 1)], lease=HOUR)

    assert stolen == []
    assert seen(database, task).version == task.version


def test_signals_are_read_without_extending_anything(database: Database) -> None:
    task = a_running_task(database)
    stop(database, task, StopReason.user, "rev")

    with database.connection() as db:
        heard = claims.signals(db, held=[(task.id, 1), (task.id, 2)])

    assert [(beat.stop_reason, beat.lease_expires) for beat in heard] == [(StopReason.user, task.lease_expires)]


def test_the_first_reason_to_stop_is_the_one_that_counts(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    first = stop(database, task, StopReason.shutdown, "w1")
    second = stop(database, task, StopReason.user, "rev")

    assert first is not None
    assert second is not None
    assert (second.stop_reason, second.stop_by, second.version) == (StopReason.shutdown, "w1", first.version + 1)
    with database.connection() as db:
        assert attempts.get_attempt(db, attempt.id).first_reason is StopReason.shutdown


@pytest.mark.parametrize("kind", [GateKind.review, GateKind.failure])
def test_what_does_not_run_is_not_asked_to_stop(database: Database, kind: GateKind) -> None:
    task = a_task_at_gate(database, kind)

    asked = stop(database, task, StopReason.user, "rev")

    assert asked is None
    assert seen(database, task) == task


def test_a_lease_that_was_given_up_can_be_taken_over_by_its_epoch(database: Database) -> None:
    task = a_running_task(database)
    other = a_worker(database)
    taking: dict[str, Any] = {"worker": other.id, "actor": "r", "lease": LEASE, "proven_dead": False, "reason": "gone"}

    with database.connection() as db:
        alive = claims.take_over(db, task=task.id, epoch=1, **taking)
        claims.give_up(db, task=task.id, epoch=1)
        taken = claims.take_over(db, task=task.id, epoch=1, **taking)
        again = claims.take_over(db, task=task.id, epoch=1, **taking)

    assert (alive, again) == (None, None)
    assert taken is not None
    assert (taken.lease_epoch, taken.lease_worker, taken.running_since) == (2, other.id, task.running_since)


def test_a_take_over_takes_the_active_attempt_along(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    other = a_worker(database)

    with database.connection() as db:
        claims.take_over(
            db, task=task.id, epoch=1, worker=other.id, actor="r", lease=LEASE, proven_dead=True, reason="gone"
        )
        followed = attempts.get_attempt(db, attempt.id)

    assert (followed.state, followed.epoch, followed.worker_id) == ("running", 2, attempt.worker_id)
    assert moves(database, task)[-1].reason == "gone"


def test_a_released_task_has_no_lease_and_the_next_claim_a_new_epoch(database: Database) -> None:
    task = a_running_task(database)
    with database.connection() as db:
        free = tasks.move(db, task, TaskEvent.release, actor="w1", epoch=1)

    held = claimed(database)

    assert (free.lease_worker, free.lease_expires, free.running_since) == (None, None, None)
    assert held is not None
    assert held.lease_epoch == free.lease_epoch + 1
