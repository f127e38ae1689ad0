"""What recovery does with running tasks whose lease is dead, row by row of its table; no agent is needed for these."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from statemachine.attempts import AttemptKind, AttemptState, StopReason
from statemachine.refusals import Refusal
from statemachine.settlement import Isolation
from statemachine.tasks import TaskState
from store import attempts, recoveries, workers
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Database
from store.tasks import Task
from tests.factories import a_done_item, a_running_task, a_worker, an_attempt
from tests.recovery.scenes import (
    a_dead_worker,
    everything,
    expire,
    launched,
    ready,
    reserved,
    said,
    unsaid,
    workspaces,
)
from tests.store.scenes import aged, asked, cancel, gates_of, isolation_failed, moves, stop
from tests.workshop import Workshop, edit, item

S = TaskState


def held(workshop: Workshop, *, retries: int = 1, budget: timedelta | None = None) -> Task:
    """Add a real task of two items and claim it, by a worker of another host with a lease that lives."""
    items = item("P1", edit("a.txt"), retries=retries), item("P2", edit("src/x.py"))
    return a_running_task(workshop.database, workshop.add("", *items, budget=budget))


@pytest.mark.case("R01", "R09")
def test_a_living_lease_of_another_host_is_untouched(workshop: Workshop, superuser_url: str) -> None:
    task = held(workshop)
    launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    before = everything(superuser_url)

    report = workshop.recover()

    assert (report.lines, report.complete) == ((), True)
    assert everything(superuser_url) == before


# ---------------------------------------------------------------- an attempt was active


@pytest.mark.case("R01", "W03")
@pytest.mark.parametrize(("make", "left"), [(reserved, "failed"), (ready, "quarantined")])
def test_a_pending_attempt_is_interrupted_and_its_workspace_taken_out_of_use(
    workshop: Workshop, superuser_url: str, make: Callable[[Database, Attempt], Allocation], left: str
) -> None:
    task = held(workshop)
    make(workshop.database, an_attempt(workshop.database, task, launched=False))
    expire(superuser_url, task)

    report = workshop.recover()

    now = workshop.attempts(task)[0]
    assert said(report) == [(task.id, "queued"), (task.id, f"workspace_{left}")]
    assert (now.state, now.started_at, now.failure_code) == (AttemptState.interrupted, None, None)
    assert workspaces(workshop.database, task) == [left]
    assert (workshop.look(task).failures, workshop.look(task).losses) == (0, 1)


@pytest.mark.case("R01")
def test_an_attempt_whose_tree_is_on_another_host_is_interrupted_unjudged(
    workshop: Workshop, superuser_url: str
) -> None:
    task = held(workshop)
    launched(workshop.database, an_attempt(workshop.database, task, launched=False), host="elsewhere")
    expire(superuser_url, task)

    report = workshop.recover()

    assert said(report) == [(task.id, "queued"), (task.id, "workspace_quarantined")]
    assert workshop.attempts(task)[0].failure == "its workspace is on another host"
    assert (workshop.findings(task), workshop.outputs(task)) == ([], [])


def test_numbers_of_processes_of_another_host_are_never_looked_up_here(workshop: Workshop, superuser_url: str) -> None:
    task = held(workshop)
    attempt = launched(workshop.database, an_attempt(workshop.database, task, launched=False), host="elsewhere")
    ours = {"pid": 1, "started": 0, "group": 1, "boot": "elsewhere", "supervisor": 1}
    with workshop.database.connection() as db:
        attempts.note_handle(db, attempt, {**ours, "a field of a later version": 1})
    expire(superuser_url, task)

    report = workshop.recover()

    assert said(report)[0] == (task.id, "queued")


@pytest.mark.case("R01")
@pytest.mark.parametrize(
    ("why", "ends"),
    [
        (StopReason.user, (AttemptState.cancelled, S.needs_human, [("failure", "open")])),
        (StopReason.time_limit, (AttemptState.cancelled, S.needs_human, [("limit", "open")])),
        (StopReason.shutdown, (AttemptState.stopped, S.queued, [])),
        (StopReason.stale, (AttemptState.stale, S.queued, [])),
    ],
)
def test_a_reason_recorded_before_the_worker_died_still_counts(
    workshop: Workshop, superuser_url: str, why: StopReason, ends: tuple[object, ...]
) -> None:
    task = held(workshop)
    launched(workshop.database, an_attempt(workshop.database, task, launched=False), host="elsewhere")
    stop(workshop.database, task, why, actor="rev")
    expire(superuser_url, task)

    workshop.recover()

    states = workshop.attempts(task)[0].state, workshop.look(task).state
    assert (*states, gates_of(superuser_url, task)) == ends


@pytest.mark.case("R01")
def test_a_cancel_asked_before_the_worker_died_closes_the_task(workshop: Workshop, superuser_url: str) -> None:
    task = held(workshop)
    launched(workshop.database, an_attempt(workshop.database, task, launched=False), host="elsewhere")
    cancel(workshop.database, task)
    expire(superuser_url, task)

    workshop.recover()

    assert workshop.look(task).state is S.cancelled
    assert workshop.attempts(task)[0].state is AttemptState.cancelled


@pytest.mark.case("R01")
@pytest.mark.parametrize(("retries", "state"), [(1, S.queued), (0, S.needs_human)])
def test_an_agent_known_to_have_failed_is_a_failure_and_its_retries_count(
    workshop: Workshop, superuser_url: str, retries: int, state: TaskState
) -> None:
    task = held(workshop, retries=retries)
    attempt = launched(workshop.database, an_attempt(workshop.database, task, launched=False), host="elsewhere")
    isolation_failed(workshop.database, attempt, Isolation.timeout)
    expire(superuser_url, task)

    workshop.recover()

    assert (workshop.attempts(task)[0].state, workshop.look(task).failures) == (AttemptState.failed, 1)
    assert workshop.look(task).state is state


@pytest.mark.case("R01", "R07")
def test_two_losses_are_no_finding_and_a_done_item_between_them_starts_the_count_again(
    workshop: Workshop, superuser_url: str
) -> None:
    task = held(workshop)

    for _ in range(2):
        lose(workshop, superuser_url, task)
        a_running_task(workshop.database, task)
    a_done_item(workshop.database, workshop.look(task))
    for _ in range(2):
        lose(workshop, superuser_url, task, item="P2")
        a_running_task(workshop.database, task)
    before = workshop.kinds(task)
    lose(workshop, superuser_url, task, item="P2")

    assert (before, workshop.kinds(task)) == ([], ["worker_crash_loop"])
    assert workshop.look(task).state is S.needs_human


def lose(workshop: Workshop, superuser_url: str, task: Task, item: str = "P1") -> None:
    an_attempt(workshop.database, workshop.look(task), item=item, launched=False)
    expire(superuser_url, task)
    workshop.recover()


@pytest.mark.case("R01")
def test_a_check_that_was_running_is_interrupted_without_a_look_at_its_tree(
    workshop: Workshop, superuser_url: str
) -> None:
    task = held(workshop)
    check = an_attempt(workshop.database, task, item=None, kind=AttemptKind.check, launched=False)
    launched(workshop.database, check)
    expire(superuser_url, task)

    report = workshop.recover()

    assert said(report) == [(task.id, "queued"), (task.id, "workspace_quarantined")]
    assert workshop.attempts(task)[0].state is AttemptState.interrupted
    assert workshop.attempts(task)[0].failure == ""


# ---------------------------------------------------------------- between items


@pytest.mark.case("R01", "R02")
@pytest.mark.parametrize(
    ("why", "moved"),
    [
        (None, (S.queued, "requeue", "its worker was lost between items")),
        (StopReason.shutdown, (S.queued, "requeue", "its worker was lost between items, asked by rev")),
        (StopReason.user, (S.needs_human, "halt", "stopped by a person between items, asked by rev")),
        (StopReason.time_limit, (S.needs_human, "hit_limit", "the budget is spent, asked by rev")),
    ],
)
def test_between_items_it_is_queued_or_halted_by_what_was_asked(
    workshop: Workshop, superuser_url: str, why: StopReason | None, moved: tuple[TaskState, str, str]
) -> None:
    task = held(workshop)
    if why:
        stop(workshop.database, task, why, actor="rev")
    expire(superuser_url, task)

    report = workshop.recover()

    last = moves(workshop.database, task)[-1]
    assert said(report) == [(task.id, moved[0].value)]
    assert ((workshop.look(task).state, last.event, last.reason), last.actor) == (moved, "recovery")


@pytest.mark.case("R01")
def test_a_cancel_asked_between_items_closes_the_task(workshop: Workshop, superuser_url: str) -> None:
    task = held(workshop)
    cancel(workshop.database, task)
    expire(superuser_url, task)

    report = workshop.recover()

    assert said(report) == [(task.id, "cancelled")]
    assert workshop.look(task).state is S.cancelled


@pytest.mark.case("R01")
def test_between_items_without_budget_it_goes_to_its_limit_gate_in_the_same_pass(
    workshop: Workshop, superuser_url: str
) -> None:
    task = held(workshop, budget=timedelta(hours=1))
    aged(superuser_url, "UPDATE task SET running_since = running_since - interval '2 hours' WHERE id = %s", task.id)
    expire(superuser_url, task)

    report = workshop.recover()

    assert said(report) == [(task.id, "needs_human")]
    assert workshop.events(task) == ["add", "claim", "take_over", "requeue", "hit_limit"]
    assert gates_of(superuser_url, task) == [("limit", "open")]


# ---------------------------------------------------------------- whose lease is dead


def test_a_dead_process_of_this_host_is_not_waited_for(workshop: Workshop) -> None:
    task = a_running_task(workshop.database, workshop.add(""), worker=a_dead_worker(workshop.database))

    report = workshop.recover()

    assert said(report) == [(task.id, "queued")]
    assert report.lines[0].detail == f"task {task.id} is queued again: its worker is gone; it was between items"


@pytest.mark.case("R09")
def test_a_dead_process_whose_sign_of_life_is_held_is_left_alone(workshop: Workshop) -> None:
    worker = a_dead_worker(workshop.database)
    task = a_running_task(workshop.database, workshop.add(""), worker=worker)

    with workshop.database.session() as db:
        workers.try_lock(db, worker.id)
        first = workshop.recover()
    second = workshop.recover()

    assert (said(first), said(second)) == ([], [(task.id, "queued")])


def test_a_worker_of_any_host_that_said_it_is_gone_holds_nothing(workshop: Workshop) -> None:
    worker = a_worker(workshop.database)
    task = a_running_task(workshop.database, workshop.add(""), worker=worker)
    with workshop.database.connection() as db:
        workers.leave(db, worker.id)

    report = workshop.recover()

    assert said(report) == [(task.id, "queued")]


# ---------------------------------------------------------------- rows that cannot be recovered


@pytest.mark.case("R10")
def test_one_row_that_cannot_be_recovered_is_named_and_the_others_are(workshop: Workshop, superuser_url: str) -> None:
    bad = a_running_task(workshop.database, workshop.add(""))
    attempt = launched(workshop.database, an_attempt(workshop.database, bad, launched=False))
    with workshop.database.connection() as db:
        attempts.note_handle(db, attempt, {"a handle": "of a version nobody knows"})
    good = [a_running_task(workshop.database, workshop.add("")) for _ in range(2)]
    expire(superuser_url, bad, *good)
    before = asked(superuser_url, "SELECT task::text FROM task WHERE id = %s", bad.id)

    first, second = workshop.recover(), workshop.recover()

    assert said(first) == [(task.id, "queued") for task in good]
    assert [unsaid(first), unsaid(second)] == [[(bad.id, "unexpected")]] * 2
    assert "TypeError" in first.unfinished[0].detail
    assert asked(superuser_url, "SELECT task::text FROM task WHERE id = %s", bad.id) == before


@pytest.mark.case("R10")
def test_a_task_whose_runner_repository_is_away_waits_with_its_lease_free(
    workshop: Workshop, superuser_url: str
) -> None:
    task = held(workshop)
    launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    expire(superuser_url, task)
    place, away = workshop.runner().path, workshop.folder / "away"
    place.rename(away)
    before = everything(superuser_url)

    first, second = workshop.recover(), workshop.recover()
    between = everything(superuser_url)
    away.rename(place)
    third = workshop.recover()

    assert unsaid(first) == [(task.id, "repository_missing"), (None, "repository_missing")]
    assert (unsaid(second), between) == (unsaid(first), before)
    assert said(third)[0] == (task.id, "queued")


@pytest.mark.case("R10")
def test_what_fails_after_the_take_over_gives_the_lease_back(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = held(workshop)
    launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    expire(superuser_url, task)

    def refuse(*_: object, **__: object) -> None:
        raise Refusal("disk_full", "there is no room left")

    with monkeypatch.context() as patch:
        patch.setattr("recovery.storage.set_aside", refuse)
        first = workshop.recover()
    lease = asked(superuser_url, "SELECT state, lease_expires < now() FROM task WHERE id = %s", task.id)
    second = workshop.recover()

    assert (unsaid(first), lease) == ([(task.id, "disk_full")], [("running", True)])
    assert (said(second)[0], unsaid(second)) == ((task.id, "queued"), [])


def test_every_page_is_looked_at_and_none_twice(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [a_running_task(workshop.database, workshop.add("")) for _ in range(5)]
    waiting = tasks[2]
    attempt = launched(workshop.database, an_attempt(workshop.database, waiting, launched=False))
    with workshop.database.connection() as db:
        attempts.note_handle(db, attempt, {"a handle": "of a version nobody knows"})
    expire(superuser_url, *tasks)
    monkeypatch.setattr(recoveries, "PAGE", 1)

    report = workshop.recover()

    assert said(report) == [(task.id, "queued") for task in tasks if task != waiting]
    assert unsaid(report) == [(waiting.id, "unexpected")]


def test_a_recovery_leaves_no_worker_behind_and_takes_none_where_nothing_is_dead(
    workshop: Workshop, superuser_url: str
) -> None:
    count = "SELECT state, count(*) FROM worker WHERE name = 'recovery' GROUP BY state"
    workshop.recover()
    idle = asked(superuser_url, count)
    tasks = [held(workshop) for _ in range(2)]
    for task in tasks:
        launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    expire(superuser_url, *tasks)

    workshop.recover()

    assert (idle, asked(superuser_url, count)) == ([], [("gone", 1)])
