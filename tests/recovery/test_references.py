"""Refs are copies of rows: whatever became of them, they are what the rows say again, and no row follows a ref."""

import shutil

import pytest

from statemachine.tasks import TaskState
from store.tasks import Task
from tests.factories import a_registered_repository, git
from tests.recovery.scenes import everything, said, unsaid
from tests.workshop import Workshop
from workspace.repository import refs
from workspace.repository.refs import attempt_ref, base_ref, task_ref

WRITE = "open('a.txt', 'a').write('x\\n')\n"
NOBODY = "12345678-1234-4234-8234-123456789abc"


def change(workshop: Workshop, ref: str, to: str | None) -> None:
    """Move a ref, or remove it, as nobody should."""
    runner = workshop.runner().path
    git(runner, "update-ref", *(("-d", ref) if to is None else (ref, to)))


@pytest.mark.case("R13", "R01")
@pytest.mark.parametrize("name", [task_ref, base_ref])
@pytest.mark.parametrize("became", ["nothing", "another commit"])
def test_a_ref_that_is_missing_or_elsewhere_is_what_its_row_says_again(
    workshop: Workshop, superuser_url: str, name: object, became: str
) -> None:
    task = workshop.run(WRITE)
    before, rows = workshop.refs(), everything(superuser_url)
    ref = task_ref(task.id) if name is task_ref else base_ref(task.id)
    elsewhere = task.base if name is task_ref else task.head
    change(workshop, ref, None if became == "nothing" else elsewhere)

    first, second = workshop.recover(), workshop.recover()

    assert (said(first), said(second)) == ([(task.id, "refs_repaired")], [])
    assert first.lines[0].detail.endswith(f": {ref}")
    assert (workshop.refs(), everything(superuser_url)) == (before, rows)


@pytest.mark.case("R13")
def test_the_ref_of_an_attempt_that_ended_is_pruned_and_one_of_nobody_is_named_and_kept(workshop: Workshop) -> None:
    task = workshop.run(WRITE)
    served = attempt_ref(workshop.attempts(task)[0].id)
    strange = [f"refs/weighlock/attempts/{NOBODY}", "refs/weighlock/attempts/mine", f"refs/weighlock/partial/{NOBODY}"]
    for ref in (served, *strange):
        change(workshop, ref, task.head)

    first, second = workshop.recover(), workshop.recover()

    assert [line.detail.split()[0] for line in first.unknown] == strange
    assert f"update-ref -d {strange[0]}" in first.unknown[0].hint
    assert said(first) == [(task.id, "refs_repaired")]
    assert (said(second), second.unknown) == ([], first.unknown)
    assert first.complete
    assert set(strange) <= set(workshop.refs())
    assert served not in workshop.refs()


@pytest.mark.case("R01", "R10")
def test_a_head_whose_object_is_lost_is_reported_and_never_rewritten(workshop: Workshop, superuser_url: str) -> None:
    lost, kept = workshop.run(WRITE), workshop.run("")
    lose_objects_of(workshop, lost)
    change(workshop, task_ref(kept.id), None)
    before, rows = workshop.refs(), everything(superuser_url)

    report = workshop.recover()

    assert unsaid(report) == [(lost.id, "head_missing")]
    assert lost.head in report.unfinished[0].detail
    assert said(report) == [(kept.id, "refs_repaired")]
    assert everything(superuser_url) == rows
    assert workshop.refs() == {**before, task_ref(kept.id): kept.head}


def lose_objects_of(workshop: Workshop, task: Task) -> None:
    """Lose everything a task's agent added to the runner repository."""
    objects = workshop.runner().objects
    for index in (objects / "pack").glob("*.idx"):
        if task.head in git(workshop.runner().path, "verify-pack", "-v", str(index)).split():
            index.unlink()
    loose = objects / task.head[:2] / task.head[2:]
    loose.unlink(missing_ok=True)


def test_a_repository_without_open_tasks_may_be_gone(workshop: Workshop) -> None:
    a_registered_repository(workshop.database)

    report = workshop.recover()

    assert (report.lines, report.complete) == ((), True)


@pytest.mark.case("R10")
def test_a_repository_that_is_gone_stops_no_other(workshop: Workshop) -> None:
    task = workshop.run(WRITE)
    change(workshop, task_ref(task.id), None)
    (workshop.folder / "other").mkdir()
    other = additional(workshop)
    shutil.rmtree(workshop.root.repositories / f"{other}.git")

    report = workshop.recover()

    assert said(report) == [(task.id, "refs_repaired")]
    assert [what for _, what in unsaid(report)] == ["repository_missing"]
    assert task.state is TaskState.in_review


def additional(workshop: Workshop) -> str:
    """Add a task of another repository, and name that one's runner repository."""
    known = {place.stem for place in workshop.root.repositories.iterdir()}
    first, workshop.repository = workshop.repository, workshop.folder / "a-copy"
    shutil.copytree(first, workshop.repository)
    workshop.add("")
    workshop.repository = first
    (made,) = {place.stem for place in workshop.root.repositories.iterdir()} - known
    return made


def test_a_locked_ref_is_named_and_repaired_once_it_is_free(workshop: Workshop) -> None:
    task = workshop.run(WRITE)
    change(workshop, task_ref(task.id), None)
    lock = workshop.runner().path / f"{task_ref(task.id)}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()

    locked = workshop.recover()
    lock.unlink()
    free = workshop.recover()

    assert unsaid(locked) == [(task.id, "lock_timeout")]
    assert said(free) == [(task.id, "refs_repaired")]
    assert refs.read(workshop.runner(), task_ref(task.id)) == task.head
