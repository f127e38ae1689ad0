"""Work outside the declared files: kept, paused, and decided by a person."""

import pytest

from statemachine.pauses import PauseState
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from tests.factories import a_commit
from tests.workshop import Workshop, edit, item

STRAY = (
    "open({'P1': 'a.txt', 'P2': 'src/x.py'}[item], 'a').write('x'); turn == 1 and open('stray.txt', 'w').write('s')\n"
)


@pytest.mark.case("P01")
def test_an_undeclared_file_is_committed_and_pauses_the_task_before_the_next_item(workshop: Workshop) -> None:
    task = workshop.run(STRAY, item("P1", edit("a.txt")), item("P2", edit("src/x.py")))

    pause, entry = workshop.pause(task), workshop.ledger(task)[0]
    assert pause is not None
    assert task.state is TaskState.needs_amendment
    assert workshop.changed(entry.commit or "") == ["M\ta.txt", "A\tstray.txt"]
    assert (pause.head, pause.done, pause.out_of_scope) == (
        entry.commit,
        ["P1"],
        [{"operation": "add", "path": "stray.txt"}],
    )
    assert [attempt.item_id for attempt in workshop.attempts(task)] == ["P1"]


@pytest.mark.case("P02")
def test_a_pause_of_the_second_item_knows_both(workshop: Workshop) -> None:
    script = "open('a.txt', 'a').write(item); item == 'P2' and open('stray.txt', 'w').write('s')\n"

    task = workshop.run(script, item("P1", edit("a.txt")), item("P2", edit("a.txt")))

    pause = workshop.pause(task)
    assert pause is not None
    assert (pause.item_id, pause.done) == ("P2", ["P1", "P2"])


@pytest.mark.case("P04")
def test_moving_the_persons_repository_changes_nothing_about_a_pause(workshop: Workshop) -> None:
    task = workshop.run(STRAY)
    a_commit(workshop.repository, {"a.txt": "somebody else's\n"})

    approved = workshop.approve(task, amend=True)

    assert approved.state is TaskState.queued
    assert approved.head == task.head


@pytest.mark.case("P05")
def test_a_plan_that_still_misses_a_path_is_refused(workshop: Workshop) -> None:
    task = workshop.run(STRAY)

    with pytest.raises(Refusal) as refusal:
        workshop.approve(task)

    assert refusal.value.code == "scope_not_amended"
    assert workshop.look(task).version == task.version


@pytest.mark.case("P06")
def test_an_amendment_adds_exactly_those_paths_and_the_next_item_runs(workshop: Workshop) -> None:
    task = workshop.run(STRAY, item("P1", edit("a.txt")), item("P2", edit("src/x.py")))

    workshop.approve(task, amend=True)
    again = workshop.work(task)

    ran = [attempt.item_id for attempt in workshop.attempts(task)]
    assert (again.state, again.revision) == (TaskState.in_review, 2)
    assert ran == ["P1", "P2"]
    assert workshop.refs()[f"refs/weighlock/tasks/{task.id}"] == again.head


@pytest.mark.case("P07")
def test_a_paused_last_item_goes_on_to_checks_and_review_once_approved(workshop: Workshop) -> None:
    task = workshop.run(STRAY, checks=("test -f stray.txt",))

    workshop.approve(task, amend=True)
    again = workshop.work(task)

    assert again.state is TaskState.in_review
    assert [(result.command, result.passed) for result in workshop.results(task)] == [("test -f stray.txt", True)]
    assert [attempt.kind for attempt in workshop.attempts(task)] == ["execute", "check"]


@pytest.mark.case("P08")
def test_rejecting_a_pause_sets_the_commit_aside_and_the_item_runs_again(workshop: Workshop) -> None:
    task = workshop.run(STRAY)
    entry, pause = workshop.ledger(task)[0], workshop.pause(task)
    assert pause is not None

    back = workshop.reject(task, reason="not wanted")
    again = workshop.work(task)

    assert (back.state, back.head) == (TaskState.queued, task.base)
    assert workshop.refs()[f"refs/weighlock/discarded/{entry.attempt_id}"] == entry.commit
    assert again.state is TaskState.in_review
    assert workshop.changed(again.head) == ["M\ta.txt"]
    assert (after := workshop.pause(task)) is not None
    assert after.state is PauseState.discarded
