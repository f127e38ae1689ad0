"""Passes as a whole: bounded beside the claims, left between two rows when told to, and no repair stops the next."""

import pytest

from statemachine.tasks import TaskState
from store.tasks import Task
from tests.factories import a_running_task, an_attempt, git
from tests.recovery.scenes import everything, expire, launched, said, unsaid
from tests.workshop import Workshop
from workspace.repository.refs import attempt_ref, task_ref

S = TaskState


def trees(workshop: Workshop, superuser_url: str, number: int) -> list[Task]:
    """Lose so many tasks whose agents ran on this host."""
    held = [a_running_task(workshop.database, workshop.add("")) for _ in range(number)]
    for task in held:
        launched(workshop.database, an_attempt(workshop.database, task, launched=False))
    expire(superuser_url, *held)
    return held


def states(workshop: Workshop, held: list[Task]) -> list[TaskState]:
    return [workshop.look(task).state for task in held]


def test_beside_the_claims_a_pass_judges_so_many_trees_and_takes_no_lease_of_the_others(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recovery.passes.TREES", 2)
    held = trees(workshop, superuser_url, 3)
    between = a_running_task(workshop.database, workshop.add(""))
    expire(superuser_url, between)

    first = workshop.recover(brief=True)
    waiting = workshop.look(held[2])
    second = workshop.recover(brief=True)

    assert unsaid(first) == [(held[2].id, "tree_waits")]
    assert first.unfinished[0].hint == "tasks recover"
    assert said(first)[0] == (between.id, "queued")
    assert (waiting.state, waiting.lease_epoch) == (S.running, held[2].lease_epoch)
    assert (unsaid(second), states(workshop, held)) == ([], [S.queued] * 3)


@pytest.mark.case("R10")
def test_a_whole_pass_judges_all_of_them(workshop: Workshop, superuser_url: str) -> None:
    held = trees(workshop, superuser_url, 5)

    report = workshop.recover()

    assert (unsaid(report), states(workshop, held)) == ([], [S.queued] * 5)


@pytest.mark.case("R15")
def test_a_pass_that_is_told_to_end_leaves_between_two_rows_with_every_lease_free(
    workshop: Workshop, superuser_url: str
) -> None:
    held = trees(workshop, superuser_url, 3)
    before = workshop.look(held[2])

    report = workshop.recover(stopping=lambda: any(state is S.queued for state in states(workshop, held)))
    after = workshop.look(held[2])
    rest = workshop.recover()

    assert [task for task, what in said(report) if what == "queued"] == [held[0].id]
    assert unsaid(report) == [(None, "told_to_end")]
    assert after == before
    assert (unsaid(rest), states(workshop, held)) == ([], [S.queued] * 3)


@pytest.mark.case("R15")
def test_a_pass_that_is_told_to_end_before_it_begins_does_nothing(workshop: Workshop, superuser_url: str) -> None:
    trees(workshop, superuser_url, 1)
    before = everything(superuser_url)

    report = workshop.recover(stopping=lambda: True)

    assert (said(report), unsaid(report)) == ([], [(None, "told_to_end")])
    assert everything(superuser_url) == before


@pytest.mark.case("R13")
def test_a_brief_pass_repairs_what_an_attempts_ref_tells_was_cut_short_and_looks_at_no_other(
    workshop: Workshop,
) -> None:
    cut, other = (workshop.run("open('a.txt', 'a').write('x\\n')\n") for _ in range(2))
    runner = workshop.runner().path
    git(runner, "update-ref", attempt_ref(workshop.attempts(cut)[0].id), cut.head)
    for task in (cut, other):
        git(runner, "update-ref", "-d", task_ref(task.id))

    brief, whole = workshop.recover(brief=True), workshop.recover()

    assert (said(brief), said(whole)) == ([(cut.id, "refs_repaired")], [(other.id, "refs_repaired")])


@pytest.mark.case("R10")
def test_a_repair_that_fails_as_a_whole_is_named_and_the_next_ones_are_made(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = trees(workshop, superuser_url, 1)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect of ours")

    monkeypatch.setattr("store.workers.present", fail)
    report = workshop.recover()

    assert [(line.what, line.detail) for line in report.unfinished] == [
        ("unexpected", "bury_workers: ZeroDivisionError: a defect of ours")
    ]
    assert states(workshop, held) == [S.queued]
