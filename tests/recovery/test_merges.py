"""Merges whose process is gone: the target alone says how they ended, once nobody can be pushing any more."""

from datetime import timedelta

import pytest

from statemachine.tasks import TaskState
from store import findings, merges
from store.tasks import Task
from tests.factories import a_commit, a_finding, git
from tests.recovery.scenes import begun, everything, said, unsaid
from tests.store.scenes import gates_of
from tests.workshop import Workshop


def push(workshop: Workshop, task: Task) -> None:
    git(workshop.repository, "fetch", "--quiet", str(workshop.runner().path), task.head)
    git(workshop.repository, "merge", "--quiet", "--ff-only", task.head)


def states(workshop: Workshop, task: Task) -> list[str]:
    with workshop.database.connection() as db:
        return [merge.state.value for merge in merges.listing(db, task.id)]


@pytest.mark.case("M07", "R01")
def test_a_push_that_arrived_is_merged(workshop: Workshop) -> None:
    task = begun(workshop)
    push(workshop, task)

    report = workshop.recover()

    assert said(report) == [(task.id, "confirm_merge")]
    assert (workshop.look(task).state, states(workshop, task)) == (TaskState.merged, ["merged"])


@pytest.mark.case("M07", "R01")
def test_a_push_that_never_arrived_failed_and_the_approval_stands(workshop: Workshop) -> None:
    task = begun(workshop)

    report = workshop.recover()

    assert said(report) == [(task.id, "fail_merge")]
    assert (workshop.look(task).state, states(workshop, task)) == (TaskState.merge_blocked, ["failed"])


@pytest.mark.case("M08")
def test_a_push_lost_among_others_ends_by_what_can_be_reached(workshop: Workshop) -> None:
    absent, present = begun(workshop), begun(workshop)
    push(workshop, present)
    a_commit(workshop.repository, {"other.txt": "o\n"})

    report = workshop.recover()

    assert said(report) == [(absent.id, "fail_merge"), (present.id, "confirm_merge")]


@pytest.mark.case("R01", "F15")
def test_a_failed_push_of_a_task_that_owes_a_finding_goes_to_a_person(workshop: Workshop, superuser_url: str) -> None:
    task = begun(workshop)
    with workshop.database.transaction() as db:
        findings.record(db, task.id, [a_finding("a person saw this")], actor="rev")

    report = workshop.recover()

    assert said(report) == [(task.id, "fail_merge")]
    assert workshop.look(task).state is TaskState.needs_human
    assert gates_of(superuser_url, task)[-1] == ("finding", "open")


@pytest.mark.case("M08", "R10")
def test_a_target_that_cannot_be_read_is_named_and_the_other_merges_end(workshop: Workshop, superuser_url: str) -> None:
    first, second = begun(workshop), begun(workshop)
    away = workshop.folder / "away"
    workshop.repository.rename(away)

    unread = workshop.recover()
    before = workshop.look(first), workshop.look(second)
    away.rename(workshop.repository)
    read = workshop.recover()

    assert (said(unread), unsaid(unread)) == ([], [(task.id, "target_unreadable") for task in (first, second)])
    assert [task.state for task in before] == [TaskState.merging] * 2
    assert said(read) == [(task.id, "fail_merge") for task in (first, second)]


@pytest.mark.case("M12", "R01")
def test_a_push_that_may_still_be_under_way_is_left_alone(workshop: Workshop, superuser_url: str) -> None:
    begun(workshop, lease=timedelta(minutes=5))
    before = everything(superuser_url)

    report = workshop.recover()

    assert (said(report), everything(superuser_url)) == ([], before)
