"""Allocations: at most one live workspace of a task in each state; its row comes before its first file."""

from datetime import timedelta
from uuid import uuid4

import pytest

from statemachine.allocations import AllocationState
from statemachine.refusals import LeaseLost, LostRace, Refusal
from store import allocations, attempts, claims, settlements
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Connection, Database
from tests.factories import (
    HOST,
    LEASE,
    a_done_item,
    a_plan,
    a_running_task,
    a_settled,
    a_task,
    a_worker,
    an_attempt,
    an_item,
)
from tests.store.scenes import DONE, LOST, aged, at_once, in_turn

A = AllocationState
SILENCE = timedelta(seconds=90)


def reserve(db: Connection, attempt: Attempt, host: str = HOST) -> Allocation:
    return allocations.reserve(db, attempt, allocation=uuid4(), host=host)


def ready(db: Connection, place: Allocation, attempt: Attempt) -> Allocation:
    path = f"/nowhere/{place.id}"
    return allocations.ready(db, place, epoch=attempt.epoch, path=path, base=attempt.base, baseline="{}")


def launched(database: Database, attempt: Attempt, host: str = HOST) -> Attempt:
    """Reserve, make ready and launch, as a worker does for each attempt anew."""
    with database.transaction() as db:
        place = ready(db, reserve(db, attempt, host), attempt)
        attempts.launch(db, attempt, allocation=place.id, generation=1, links_digest=None)
        return attempts.get_attempt(db, attempt.id)


def states(database: Database, attempt: Attempt) -> list[tuple[str, str]]:
    with database.connection() as db:
        return [(row.state, row.reason) for row in allocations.listing(db, task=attempt.task_id, released=True)]


@pytest.mark.case("W01")
def test_a_workspace_is_a_row_before_it_is_a_place(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)

    with database.connection() as db:
        reserved = reserve(db, attempt)
        made = ready(db, reserved, attempt)

    assert (reserved.state, reserved.path, reserved.base, reserved.ready_at) == (A.reserved, None, None, None)
    assert (made.state, made.base, made.baseline, made.epoch) == (A.ready, attempt.base, "{}", attempt.epoch)
    assert (made.materialised_by, made.host, made.executor) == (attempt.id, HOST, "local")


@pytest.mark.case("W02")
def test_of_two_first_launches_one_reserves_and_the_other_hears_conflict(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)

    def launcher() -> Allocation:
        with database.connection() as db:
            return reserve(db, attempt)

    reserved = at_once([launcher, launcher])

    refused = [each for each in reserved if isinstance(each, Refusal)]
    assert [(type(each), each.code) for each in refused] == [(LostRace, "conflict")]
    assert states(database, attempt) == [("reserved", "")]


@pytest.mark.case("W02")
def test_a_reservation_that_waits_for_another_hears_conflict(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)

    second = in_turn(database, lambda db: reserve(db, attempt), lambda db: reserve(db, attempt))

    assert isinstance(second, LostRace)
    assert second.code == "conflict"


@pytest.mark.case("W03")
def test_what_a_dead_attempt_reserved_fails_and_its_task_launches_again(database: Database) -> None:
    task = a_task(database)
    dead = an_attempt(database, a_running_task(database, task), launched=False)
    with database.connection() as db:
        reserve(db, dead)
    requeued = a_settled(database, task, dead, **LOST).task

    attempt = launched(database, an_attempt(database, a_running_task(database, requeued), launched=False))

    assert attempt.state == "running"
    assert states(database, attempt) == [("failed", "left behind by an attempt that ended"), ("ready", "")]


@pytest.mark.case("R20", "R21")
def test_what_a_dead_attempt_left_ready_on_any_host_is_quarantined_before_a_fresh_one_is_made(
    database: Database,
) -> None:
    task = a_running_task(database, plan=a_plan(an_item("P1"), an_item("P2")))
    first = an_attempt(database, task, launched=False)
    launched(database, first, host="another host")
    a_settled(database, task, first, **DONE)

    second = launched(database, an_attempt(database, task, item="P2", launched=False))

    assert second.state == "running"
    assert states(database, second) == [("quarantined", "left behind by an attempt that ended"), ("ready", "")]


def test_a_workspace_of_an_attempt_that_lives_is_never_put_aside(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database))

    with database.connection() as db:
        second = reserve(db, attempt)

    assert second.state is A.reserved
    assert [state for state, _ in states(database, attempt)] == ["ready", "reserved"]


@pytest.mark.case("W04")
@pytest.mark.parametrize("lacking", ["path", "base", "baseline"])
def test_a_workspace_without_path_base_or_baseline_is_never_ready(database: Database, lacking: str) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)
    with database.connection() as db:
        place = reserve(db, attempt)
        given = {"path": "/p", "base": attempt.base, "baseline": "{}", lacking: None}

        with pytest.raises(Refusal) as refused:
            allocations.ready(db, place, epoch=attempt.epoch, **given)  # type: ignore[arg-type]  # what is refused

    assert refused.value.code == "allocation_incomplete"
    assert states(database, attempt) == [("reserved", "")]


def test_a_workspace_is_ended_from_where_it_is_believed_to_be(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database))
    with database.connection() as db:
        believed = allocations.live(db, attempt.task_id)[0]
        ended = allocations.end(db, believed, A.retired, reason="another executor")

        with pytest.raises(LostRace) as refused:
            allocations.end(db, believed, A.quarantined, reason="late")

    assert (ended.state, ended.reason) == (A.retired, "another executor")
    assert ended.ended_at is not None
    assert refused.value.code == "conflict"


def test_a_workspace_that_never_got_ready_may_still_be_named(database: Database) -> None:
    attempt = an_attempt(database, a_running_task(database), launched=False)

    with database.connection() as db:
        failed = allocations.end(db, reserve(db, attempt), A.failed, reason="no room", path="/nowhere/half")

    assert (failed.state, failed.path) == (A.failed, "/nowhere/half")


@pytest.mark.case("W04")
def test_what_was_released_is_listed_only_when_asked_for(database: Database) -> None:
    task = a_running_task(database)
    a_done_item(database, task)

    with database.connection() as db:
        shown, every = allocations.listing(db, task=task.id), allocations.listing(db, task=task.id, released=True)
        elsewhere = allocations.listing(db, host="elsewhere", released=True)

    assert ([row.state for row in shown], [row.state for row in every], elsewhere) == ([], [A.released], [])


def test_leftovers_are_what_no_live_attempt_holds_on_this_host(database: Database, superuser_url: str) -> None:
    held, left = (an_attempt(database, a_running_task(database)) for _ in range(2))
    settle_alone(database, left)

    with database.connection() as db:
        loud = allocations.leftovers(db, host=HOST, silence=SILENCE)
        elsewhere = allocations.leftovers(db, host="elsewhere", silence=SILENCE)
    aged(superuser_url, "UPDATE worker SET heartbeat_at = heartbeat_at - interval '1 hour'")
    with database.connection() as db:
        silent = allocations.leftovers(db, host=HOST, silence=SILENCE)

    assert [(row.task_id, row.worker_silent) for row in loud] == [(left.task_id, False)]
    assert [(row.task_id, row.worker_silent) for row in silent] == [(left.task_id, True)]
    assert elsewhere == []
    assert held.state == "running"


def settle_alone(database: Database, attempt: Attempt) -> None:
    """Settle an attempt and die before its workspace is put away."""
    report = settlements.Report(task=attempt.task_id, epoch=attempt.epoch, attempt=attempt.id, exit_code=3)
    with database.transaction() as db:
        settlements.settle(db, report, actor="w1")


@pytest.mark.case("A16")
def test_whoever_lost_the_lease_reserves_nothing(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task, launched=False)
    with database.connection() as db:
        claims.take_over(
            db,
            task=task.id,
            epoch=1,
            worker=a_worker(database).id,
            actor="r",
            lease=LEASE,
            proven_dead=True,
            reason="gone",
        )

        with pytest.raises(LeaseLost):
            reserve(db, attempt)

    assert states(database, attempt) == []
