"""Claims against each other, against findings, and against a worker that slept past its lease."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from statemachine.allocations import AllocationState
from statemachine.attempts import AttemptKind, StopReason
from statemachine.gates import GateKind
from statemachine.refusals import LeaseLost, Refusal
from statemachine.settlement import Outcome
from statemachine.tasks import TaskEvent, TaskState
from store import allocations, answers, attempts, claims, findings, interventions, merges, settlements, steps, tasks
from store.engine import Connection, Database
from store.settlements import Report
from store.tasks import Task
from tests.factories import (
    LEASE,
    a_finding,
    a_plan,
    a_registered_repository,
    a_running_task,
    a_task,
    a_task_at_gate,
    a_worker,
    an_approved_task,
    an_attempt,
)
from tests.store.scenes import asked, at_once, attempted, events, in_turn, noticed, said, seen, the_attempt, the_gate

S = TaskState


def claim(db: Connection, worker: int, task: int | None = None) -> Task | None:
    return claims.claim(
        db, worker=worker, actor=f"w{worker}", kinds=list(AttemptKind), executors=["local"], lease=LEASE, task=task
    )


def notice(db: Connection, task: Task) -> Task:
    return findings.record(db, task.id, [a_finding("a person saw this")], actor="rev")


def in_own(database: Database, act: Callable[[Connection], Any]) -> Callable[[], Any]:
    """Give a thread a connection of its own to act on."""

    def run() -> Any:
        with database.connection() as db:
            return act(db)

    return run


# ---------------------------------------------------------------- workers against workers


@pytest.mark.case("A04")
def test_eight_workers_that_claim_one_task_get_one_lease_and_one_attempt(database: Database) -> None:
    task = a_task(database)
    workers = [a_worker(database).id for _ in range(8)]

    won = at_once([in_own(database, partial(claim, worker=worker)) for worker in workers])
    held = [each for each in won if isinstance(each, Task)]
    admitted = at_once([in_own(database, lambda db: admit(db, held[0])) for _ in workers])

    assert [each.id for each in held] == [task.id]
    assert Counter(type(each).__name__ for each in won) == {"Task": 1, "NoneType": 7}
    assert Counter(type(each).__name__ for each in admitted) == {"Attempt": 1, "LostRace": 7}
    assert events(database, task) == ["add", "claim"]


def admit(db: Connection, task: Task) -> attempts.Attempt:
    return attempts.admit(db, task, attempt=uuid4(), kind=AttemptKind.execute, item="P1")


@pytest.mark.case("A05")
def test_eight_workers_drain_four_hundred_tasks_without_a_gap_in_any_history(
    database: Database, superuser_url: str
) -> None:
    repository = a_registered_repository(database)
    with database.transaction() as db:
        for _ in range(400):
            tasks.add(
                db, repository=repository.id, plan=a_plan(), base="b" * 40, target="main", executor="local", actor="ann"
            )
    workers = [a_worker(database).id for _ in range(8)]

    drained = at_once([in_own(database, partial(drain, worker=worker)) for worker in workers])

    claimed = [task for each in drained if isinstance(each, list) for task in each]
    assert (len(claimed), len(set(claimed))) == (400, 400)
    assert asked(
        superuser_url,
        "SELECT count(*), count(DISTINCT task_id) FROM task_event WHERE event = 'claim'"
        " UNION ALL SELECT count(*), sum(lines) FROM (SELECT count(*) AS lines FROM task JOIN task_event line"
        " ON line.task_id = task.id WHERE task.state = 'needs_human' GROUP BY task.id, task.seq"
        " HAVING count(*) = task.seq AND max(line.seq) = task.seq AND count(*) = 3) AS whole",
    ) == [(400, 400), (400, 1200)]


def drain(db: Connection, worker: int) -> list[int]:
    drained = []
    while task := claim(db, worker):
        tasks.move(db, task, TaskEvent.halt, actor=f"w{worker}", epoch=task.lease_epoch)
        drained.append(task.id)
    return drained


@pytest.mark.case("A06")
def test_another_admission_beside_an_active_attempt_is_refused_by_code(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    before = seen(database, task)

    with database.connection() as db, pytest.raises(Refusal) as refused:
        admit(db, before)

    assert (refused.value.code, refused.value.facts["constraint"]) == ("attempt_active", "attempt_one_active")
    assert seen(database, task) == before
    assert the_attempt(database, attempt) == attempt


@pytest.mark.case("R08")
def test_of_two_recoverers_one_takes_a_task_over(database: Database) -> None:
    task = a_running_task(database)
    an_attempt(database, task)
    recoverers = [a_worker(database).id for _ in range(2)]

    taken = at_once([in_own(database, partial(take_over, task=task, worker=worker)) for worker in recoverers])

    assert Counter(type(each).__name__ for each in taken) == {"Task": 1, "NoneType": 1}
    assert seen(database, task).lease_epoch == 2
    assert events(database, task) == ["add", "claim", "take_over"]


def take_over(db: Connection, task: Task, worker: int) -> Task | None:
    return claims.take_over(
        db,
        task=task.id,
        epoch=task.lease_epoch,
        worker=worker,
        actor=f"r{worker}",
        lease=LEASE,
        proven_dead=True,
        reason="its worker is gone",
    )


def test_a_take_over_that_meets_an_admission_leaves_one_owner(database: Database) -> None:
    task = a_running_task(database)
    recoverer = a_worker(database)

    met = in_turn(database, lambda db: admit(db, task), lambda db: take_over(db, task, recoverer.id))
    again = attempted(in_own(database, lambda db: take_over(db, task, recoverer.id)))

    assert isinstance(met, LeaseLost)
    assert isinstance(again, Task)
    with database.connection() as db:
        active = attempts.active(db, task.id)
    assert active is not None
    assert active.epoch == again.lease_epoch == 2


# ---------------------------------------------------------------- findings against admissions


@pytest.mark.case("A15")
def test_a_claim_passes_by_a_task_about_which_a_finding_is_being_recorded(database: Database) -> None:
    task = a_task(database)
    worker = a_worker(database)

    with database.transaction() as recording:
        notice(recording, task)
        with database.connection() as db:
            during = claim(db, worker.id)
    with database.connection() as db:
        after = claim(db, worker.id)

    assert (during, after) == (None, None)
    assert seen(database, task).state is S.needs_human


@pytest.mark.case("A15", "F14")
def test_a_finding_that_waits_for_a_claim_takes_the_task_from_its_worker(database: Database) -> None:
    task = a_task(database)
    worker = a_worker(database)
    held: list[Task | None] = []

    recorded = in_turn(database, lambda db: held.append(claim(db, worker.id)), lambda db: notice(db, task))

    assert isinstance(recorded, Task)
    assert (recorded.state, recorded.owed_findings, recorded.lease_worker) == (S.needs_human, 1, None)
    assert held[0] is not None
    with database.connection() as db, pytest.raises(LeaseLost):
        admit(db, held[0])


@pytest.mark.case("A15")
def test_a_finding_that_waits_for_an_admission_asks_the_attempt_to_stop(database: Database) -> None:
    task = a_running_task(database)

    recorded = in_turn(database, lambda db: admit(db, task), lambda db: notice(db, task))

    assert isinstance(recorded, Task)
    assert (recorded.state, recorded.stop_reason, recorded.owed_findings) == (S.running, StopReason.user, 1)
    with database.connection() as db:
        active = attempts.active(db, task.id)
    assert active is not None
    assert active.first_reason is StopReason.user


@pytest.mark.case("A15")
def test_an_admission_that_waits_for_a_finding_is_refused(database: Database) -> None:
    task = a_running_task(database)

    admitted = in_turn(database, lambda db: notice(db, task), lambda db: admit(db, task))

    assert isinstance(admitted, LeaseLost)
    assert seen(database, task).state is S.needs_human


@pytest.mark.case("A15")
def test_a_retry_that_waits_for_a_finding_is_refused_and_names_it(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.failure)

    retried = in_turn(database, lambda db: notice(db, task), lambda db: interventions.retry(db, task.id, said()))

    assert isinstance(retried, Refusal)
    assert retried.code == "finding_owed"
    assert seen(database, task).state is S.needs_human


@pytest.mark.case("A15")
def test_a_finding_that_waits_for_a_retry_stops_the_queued_task(database: Database) -> None:
    task = a_task_at_gate(database, GateKind.failure)

    recorded = in_turn(database, lambda db: interventions.retry(db, task.id, said()), lambda db: notice(db, task))

    assert isinstance(recorded, Task)
    assert (recorded.state, the_gate(database, task).kind) == (S.needs_human, GateKind.finding)
    assert events(database, task)[-2:] == ["retry", "raise_finding"]


@pytest.mark.case("A15", "M02")
def test_a_merge_that_waits_for_a_finding_is_refused_without_a_row(database: Database) -> None:
    task = an_approved_task(database)

    begun = in_turn(database, lambda db: notice(db, task), lambda db: begin(db, task))

    assert isinstance(begun, Refusal)
    assert begun.code == "not_mergeable"
    with database.connection() as db:
        assert merges.listing(db, task.id) == []


@pytest.mark.case("A15")
def test_a_finding_that_waits_for_a_merge_is_seen_by_its_last_look(database: Database) -> None:
    task = an_approved_task(database)

    recorded = in_turn(database, lambda db: begin(db, task), lambda db: notice(db, task))

    assert isinstance(recorded, Task)
    assert (recorded.state, recorded.owed_findings) == (S.merging, 1)
    with database.transaction() as db:
        failed = tasks.move(db, tasks.lock(db, task.id), TaskEvent.fail_merge, actor="rev", reason="a finding is owed")
    assert (failed.state, the_gate(database, task).kind) == (S.needs_human, GateKind.finding)
    assert the_gate(database, task).reason == "a finding is owed"


def begin(db: Connection, task: Task) -> merges.Merge:
    held = tasks.lock(db, task.id)
    tasks.move(db, held, TaskEvent.begin_merge, actor="rev")
    plan = merges.Plan(strategy="ff", target="/nowhere", branch="main", old_tip=None, head=held.head, commit=held.head)
    return merges.begin(db, merge=uuid4(), task=task.id, plan=plan, actor="rev", host="h", lease=LEASE)


# ---------------------------------------------------------------- a merge in flight


@pytest.mark.case("A08")
def test_nothing_but_findings_and_reading_touches_a_task_that_is_merging(database: Database) -> None:
    task = an_approved_task(database)
    with database.connection() as db:
        row = db.execute("SELECT id FROM gate WHERE task_id = %s", (task.id,)).fetchone()
    assert row is not None
    with database.transaction() as db:
        begin(db, task)
    before = seen(database, task)
    acts: dict[str, Callable[[Connection], object]] = {
        "not_at_gate": lambda db: interventions.retry(db, task.id, said()),
        "merge_in_flight": lambda db: tasks.move(db, before, TaskEvent.amend, actor="ann"),
        "merge_in_flight ": lambda db: interventions.cancel(db, task.id, actor="ann", reason=""),
        "stale_view": lambda db: answers.approve(db, row["id"], said()),
        "not_running": lambda db: interventions.stop(db, task.id, actor="ann"),
    }

    refused = [attempted(in_transaction(database, act)) for act in acts.values()]
    offered = in_own(database, lambda db: claim(db, a_worker(database).id))()

    assert [each.code for each in refused if isinstance(each, Refusal)] == [code.strip() for code in acts]
    assert offered is None
    assert seen(database, task) == before
    assert noticed(database, task).owed_findings == 1


def in_transaction(database: Database, act: Callable[[Connection], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with database.transaction() as db:
            return act(db)

    return run


# ---------------------------------------------------------------- a zombie


@pytest.mark.case("A16")
def test_a_worker_whose_lease_was_taken_over_changes_no_row(database: Database, superuser_url: str) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    assert task.lease_worker is not None
    worker, pair = task.lease_worker, [(task.id, task.lease_epoch)]
    with database.connection() as db:
        place = allocations.live(db, task.id)[0]
        assert take_over(db, task, a_worker(database).id) is not None
    report = Report(task=task.id, epoch=1, attempt=attempt.id, exit_code=0, outcome=Outcome.unchanged)
    before = everything(superuser_url)
    asleep = seen(database, task)
    lost: list[Callable[[Connection], object]] = [
        lambda db: attempts.admit(db, task, attempt=uuid4(), kind=AttemptKind.execute, item="P1"),
        lambda db: attempts.launch(db, attempt, allocation=place.id, generation=1, links_digest=None),
        lambda db: attempts.note_handle(db, attempt, {"pid": 1}),
        lambda db: allocations.reserve(db, attempt, allocation=uuid4(), host="h"),
        lambda db: allocations.ready(db, place, epoch=1, path="/p", base="b", baseline="{}"),
        lambda db: settlements.settle(db, report, actor="zombie"),
        lambda db: tasks.move(db, task, TaskEvent.release, actor="zombie", epoch=1),
        lambda db: tasks.move(db, asleep, TaskEvent.release, actor="zombie", epoch=1),
        lambda db: steps.facts(db, task=task.id, epoch=1),
    ]
    silent: list[tuple[object, Callable[[Connection], object]]] = [
        ([], lambda db: claims.beat(db, worker=worker, held=pair, lease=LEASE)),
        ([], lambda db: claims.signals(db, held=pair)),
        (None, lambda db: claims.request_stop(db, task=task.id, why=StopReason.stale, actor="zombie", epoch=1)),
        (None, lambda db: attempts.note_isolation_failure(db, attempt, "timeout")),
        (None, lambda db: claims.give_up(db, task=task.id, epoch=1)),
        (None, lambda db: take_over(db, task, worker)),
    ]

    refused = [attempted(in_transaction(database, act)) for act in lost]
    said_nothing = [in_own(database, act)() for _, act in silent]

    assert [type(each) for each in refused] == [LeaseLost] * len(lost)
    assert said_nothing == [answer for answer, _ in silent]
    assert everything(superuser_url) == before


def everything(superuser_url: str) -> list[tuple[Any, ...]]:
    tables = ("task", "task_event", "attempt", "allocation", "gate", "finding", "pause", "commit_ledger")
    query = " UNION ALL ".join(f"SELECT '{table}', {table}::text FROM {table}" for table in tables)
    return sorted(asked(superuser_url, query))


@pytest.mark.case("A16")
def test_a_zombies_workspace_is_only_ended_from_where_it_was_believed_to_be(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    with database.connection() as db:
        believed = allocations.live(db, task.id)[0]
        take_over(db, task, a_worker(database).id)
        allocations.end(db, believed, AllocationState.quarantined, reason="its worker was lost")

    with database.connection() as db, pytest.raises(Refusal) as refused:
        allocations.end(db, believed, AllocationState.released, reason="settled")

    assert refused.value.code == "conflict"
    assert the_attempt(database, attempt).state == "running"
