"""Workspaces whose maker is gone: their rows are put right, their files stay, and nobody owes anything for them."""

import pytest

from statemachine.gates import GateKind
from statemachine.tasks import TaskState
from store import settlements, workers
from store.settlements import Report
from store.tasks import Task
from tests.factories import a_running_task, a_task_at_gate, a_worker, an_attempt
from tests.recovery.scenes import a_dead_worker, everything, launched, ready, reserved, said, workspaces
from tests.store.scenes import aged, cancel
from tests.workshop import Workshop
from workspace.agents.hosts import host_id, this_host


def settled(workshop: Workshop, task: Task, **report: object) -> Task:
    """End the attempt of a task as its worker would, and leave its workspace as it is."""
    attempt = workshop.attempts(task)[-1]
    said = Report(task=task.id, epoch=attempt.epoch, attempt=attempt.id, **report)  # type: ignore[arg-type]
    with workshop.database.transaction() as db:
        return settlements.settle(db, said, actor="worker").task


@pytest.mark.case("R01")
def test_a_ready_workspace_of_a_closed_task_is_quarantined(workshop: Workshop) -> None:
    task = a_running_task(workshop.database, workshop.add(""), worker=a_dead_worker(workshop.database))
    launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    cancel(workshop.database, task)
    closed = settled(workshop, task)

    report = workshop.recover()

    assert closed.state is TaskState.cancelled
    assert said(report) == [(task.id, "workspace_quarantined")]
    assert workspaces(workshop.database, task) == ["quarantined"]
    assert workshop.look(task) == closed


@pytest.mark.case("R01", "R20")
def test_a_ready_workspace_of_a_waiting_task_is_quarantined_and_never_a_finding(workshop: Workshop) -> None:
    task = a_running_task(workshop.database, workshop.add(""), worker=a_dead_worker(workshop.database))
    launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    for _ in range(2):
        task = settled(workshop, task, exit_code=3)
        if task.state is TaskState.running:
            an_attempt(workshop.database, task, launched=False)

    report = workshop.recover()

    assert task.state is TaskState.needs_human
    assert said(report) == [(task.id, "workspace_quarantined")]
    assert (workshop.look(task), workshop.findings(task)) == (task, [])


@pytest.mark.case("W03", "R01")
@pytest.mark.parametrize(("make", "state"), [(reserved, "failed"), (ready, "quarantined")])
def test_what_a_silent_worker_made_for_an_attempt_that_failed_is_put_right(
    workshop: Workshop, superuser_url: str, make: object, state: str
) -> None:
    worker = a_worker(workshop.database, host=host_id())
    task = a_running_task(workshop.database, workshop.add(""), worker=worker)
    (reserved if make is reserved else ready)(workshop.database, an_attempt(workshop.database, task, launched=False))
    settled(workshop, task, failure_code="not_started")
    aged(
        superuser_url, "UPDATE worker SET heartbeat_at = heartbeat_at - interval '91 seconds' WHERE id = %s", worker.id
    )
    aged(superuser_url, "UPDATE worker SET boot_id = %s WHERE id = %s", this_host().boot, worker.id)

    workshop.recover()

    assert workspaces(workshop.database, task) == [state]


def test_what_a_living_worker_is_about_to_put_away_is_left_to_it(workshop: Workshop, superuser_url: str) -> None:
    host = this_host()
    worker = a_worker(workshop.database, host=host.id, boot_id=host.boot, pid=host.pid, started=host.started)
    task = a_running_task(workshop.database, workshop.add(""), worker=worker)
    ready(workshop.database, an_attempt(workshop.database, task, launched=False))
    settled(workshop, task, failure_code="not_started")
    before = everything(superuser_url)

    report = workshop.recover()

    assert (said(report), everything(superuser_url)) == ([], before)


def test_a_workspace_of_another_host_is_left_to_that_host(workshop: Workshop, superuser_url: str) -> None:
    worker = a_worker(workshop.database)
    task = a_running_task(workshop.database, workshop.add(""), worker=worker)
    ready(workshop.database, an_attempt(workshop.database, task, launched=False), host="elsewhere")
    settled(workshop, task, failure_code="not_started")
    with workshop.database.connection() as db:
        workers.leave(db, worker.id)
    aged(superuser_url, "UPDATE task SET lease_worker = %s WHERE id = %s", a_worker(workshop.database).id, task.id)

    report = workshop.recover()

    assert (said(report), workspaces(workshop.database, task)) == ([], ["ready"])


@pytest.mark.case("R01")
@pytest.mark.parametrize("kind", list(GateKind))
def test_a_task_that_waits_for_a_person_is_untouched(workshop: Workshop, superuser_url: str, kind: GateKind) -> None:
    a_task_at_gate(workshop.database, kind)
    before = everything(superuser_url)

    workshop.recover()

    assert everything(superuser_url) == before
