"""An agent that is stopped: by a person, a shutdown, a new revision, its own time limit, the task's budget."""

import os
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from statemachine.attempts import AttemptState, StopReason
from statemachine.gates import GateKind
from statemachine.tasks import TaskState
from store import gates, interventions, plans, tasks
from store.engine import Database
from store.tasks import Task
from tests.workshop import EVERYWHERE, Workshop, edit, item

HOLD = "ring(); hold()\n"


def stop(database: Database, task: Task) -> None:
    with database.transaction() as db:
        interventions.stop(db, task.id, actor="rev")


def gate_kind(database: Database, task: Task) -> GateKind:
    with database.connection() as db:
        gate = gates.open_gate(db, tasks.get(db, task.id))
    assert gate is not None
    return gate.kind


@pytest.mark.case("S18")
@EVERYWHERE
def test_a_person_stops_a_running_agent_and_the_task_waits_at_a_failure_gate(workshop: Workshop) -> None:
    task = workshop.add(HOLD)

    with workshop.working(task):
        workshop.heard()
        stop(workshop.database, task)

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.first_reason) == (AttemptState.cancelled, StopReason.user)
    assert workshop.look(task).state is TaskState.needs_human
    assert workshop.events(task)[-1] == "halt"
    assert gate_kind(workshop.database, task) is GateKind.failure


@pytest.mark.case("S12")
def test_an_agent_goes_on_where_the_transaction_that_asked_it_to_stop_is_rolled_back(workshop: Workshop) -> None:
    go = workshop.folder / "go"
    os.mkfifo(go)
    task = workshop.add(f"ring()\nopen({str(go)!r}).close()\nopen('a.txt', 'a').write('x')\n")

    def ask_and_think_better_of_it() -> None:
        with workshop.database.transaction() as db:
            interventions.stop(db, task.id, actor="rev")
            raise ZeroDivisionError

    with workshop.working(task):
        workshop.heard()
        with pytest.raises(ZeroDivisionError):
            ask_and_think_better_of_it()
        go.write_text("")

    assert workshop.events(task) == ["add", "claim", "settle", "submit"]


@pytest.mark.case("S03")
@EVERYWHERE
def test_a_stopped_agent_that_exits_with_3_is_cancelled_and_its_code_is_kept(workshop: Workshop) -> None:
    task = workshop.add("signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\nring(); hold()\n")

    with workshop.working(task):
        workshop.heard()
        stop(workshop.database, task)

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.exit_code) == (AttemptState.cancelled, 3)


@pytest.mark.case("A07", "S11")
def test_cancelling_a_running_task_stops_its_agent_and_settlement_closes_it(workshop: Workshop) -> None:
    task = workshop.add("os.symlink('/etc/passwd', 'link')\nring(); hold()\n")

    with workshop.working(task):
        workshop.heard()
        with workshop.database.transaction() as db:
            interventions.cancel(db, task.id, actor="ann", reason="not needed any more")

    now = workshop.look(task)
    assert now.state is TaskState.cancelled
    assert workshop.attempts(task)[0].state is AttemptState.cancelled
    assert workshop.kinds(task) == ["new_symlink"]
    assert workshop.events(task)[-1] == "cancel"


@pytest.mark.case("X10")
@EVERYWHERE
def test_a_stopped_run_with_unsafe_changes_owes_the_same_finding_as_any_other(workshop: Workshop) -> None:
    task = workshop.add("os.symlink('/etc/passwd', 'link')\nring(); hold()\n")

    with workshop.working(task):
        workshop.heard()
        stop(workshop.database, task)

    assert workshop.attempts(task)[0].state is AttemptState.cancelled
    assert workshop.kinds(task) == ["new_symlink"]
    assert gate_kind(workshop.database, task) is GateKind.finding


@pytest.mark.case("S09")
def test_an_item_past_its_own_time_limit_fails_and_is_retried(workshop: Workshop) -> None:
    limited = item("P1", edit("a.txt"), time_limit=timedelta(seconds=1), retries=1)

    task = workshop.run("turn == 1 and hold()\nopen('a.txt', 'a').write('x')\n", limited)

    first, second = workshop.attempts(task)
    assert (first.state, first.isolation_failure) == (AttemptState.failed, "timeout")
    assert second.state is AttemptState.completed
    assert task.state is TaskState.in_review


@pytest.mark.case("S09", "A09")
def test_a_task_past_its_budget_is_cancelled_and_waits_at_a_limit_gate(workshop: Workshop) -> None:
    task = workshop.run("hold()\n", budget=timedelta(seconds=1))

    assert workshop.attempts(task)[0].state is AttemptState.cancelled
    assert workshop.attempts(task)[0].first_reason is StopReason.time_limit
    assert task.state is TaskState.needs_human
    assert gate_kind(workshop.database, task) is GateKind.limit


def test_a_new_revision_makes_a_running_attempt_stale_and_the_item_runs_again(workshop: Workshop) -> None:
    task = workshop.add("turn == 1 and (ring(), hold())\nopen('a.txt', 'a').write('x')\n")

    with workshop.working(task):
        workshop.heard()
        revise(workshop, task)

    first, second = workshop.attempts(task)
    assert first.state is AttemptState.stale
    assert (second.state, second.revision) == (AttemptState.completed, 2)
    assert workshop.look(task).state is TaskState.in_review


def revise(workshop: Workshop, task: Task) -> None:
    """Save a revision under a running attempt, as a later `amend` may; only its context matters here."""
    with workshop.database.transaction() as db:
        now = tasks.lock(db, task.id)
        plan = replace(plans.current(db, task=task.id, number=1).plan, title="Another title")
        plans.save(db, task=task.id, number=2, plan=plan, cause="amend", actor="ann", made_in=now.state)
        assert isinstance(db, psycopg.Connection)
        db.execute(
            "UPDATE task SET revision = 2, context = context + 1, version = version + 1 WHERE id = %s", [task.id]
        )


@pytest.mark.case("R15")
def test_a_clean_shutdown_stops_the_agent_and_leaves_the_task_claimable(workshop: Workshop) -> None:
    task = workshop.add("turn == 1 and (ring(), hold())\nopen('a.txt', 'a').write('x')\n")

    with workshop.serving() as service:
        workshop.heard()
        service.terminate()

    attempt = workshop.attempts(task)[0]
    assert service.wait() == 0
    assert (attempt.state, attempt.first_reason) == (AttemptState.stopped, StopReason.shutdown)
    assert workshop.look(task).state is TaskState.queued
    assert workshop.work(task).state is TaskState.in_review
