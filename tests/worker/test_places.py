"""Where work happens: rows before files, refusals before processes, many tasks beside each other."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from statemachine.attempts import AttemptState
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store import interventions
from tests.workshop import SETTINGS, Workshop, edit, item
from worker import additions, service
from workspace.disk.roots import Root, open_root
from workspace.inspection import links
from workspace.places import allocations

WRITE = "open('a.txt', 'a').write('x')\n"


@pytest.mark.case("W01")
def test_the_row_of_a_workspace_is_there_before_its_first_file(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = workshop.add(WRITE)
    seen: list[tuple[str, bool]] = []
    prepare = allocations.prepare

    def watching(root: Root, *, task: int, epoch: int, allocation: UUID) -> Path:
        row = next(row for row in workshop.allocations(added) if row.id == allocation)
        seen.append((row.state, any(workshop.root.workspaces.iterdir())))
        return prepare(root, task=task, epoch=epoch, allocation=allocation)

    added = task
    monkeypatch.setattr("workspace.places.allocations.prepare", watching)
    workshop.work(task)

    assert seen == [("reserved", False)]


@pytest.mark.case("W03")
def test_an_item_whose_tree_cannot_be_made_fails_and_its_reservation_with_it(workshop: Workshop) -> None:
    task = workshop.add(WRITE, item("P1", edit("a.txt"), retries=0))
    workshop.root.workspaces.chmod(0o500)
    (workshop.root.workspaces).rename(workshop.folder / "gone")
    workshop.root.workspaces.write_text("not a folder", encoding="utf-8")

    rested = workshop.work(task)

    attempt = workshop.attempts(task)[0]
    assert rested.state is TaskState.needs_human
    assert (attempt.state, attempt.started_at) == (AttemptState.failed, None)
    assert [row.state for row in workshop.allocations(task)] == ["failed"]


@pytest.mark.case("K04")
def test_twelve_tasks_on_one_repository_at_once_end_in_twelve_results(workshop: Workshop) -> None:
    script = "open('a.txt', 'a').write(os.environ['TASKS_TASK'])\n"
    added = [workshop.add(script) for _ in range(12)]

    service.work(
        workshop.database,
        workshop.root,
        replace(SETTINGS, slots=4),
        recover=lambda _: None,
        say=workshop.said.append,
        once=True,
    )

    rested = [workshop.look(task) for task in added]
    refs = workshop.refs()
    assert {task.state for task in rested} == {TaskState.in_review}
    assert [workshop.show(task.head, "a.txt") for task in rested] == [f"a\n{task.id}" for task in rested]
    assert all(refs[f"refs/weighlock/tasks/{task.id}"] == task.head for task in rested)
    assert not list(workshop.runner().path.rglob("*.lock"))


@pytest.mark.case("W14")
def test_a_root_inside_a_repository_is_refused(workshop: Workshop) -> None:
    with pytest.raises(Refusal) as refusal:
        open_root(workshop.repository / "state")

    assert refusal.value.code == "root_in_repository"
    assert not (workshop.repository / "state").exists()


@pytest.mark.case("W07")
def test_a_repository_that_holds_the_root_is_never_a_source(workshop: Workshop) -> None:
    with pytest.raises(Refusal) as refusal:
        additions.find_or_add_repository(workshop.database, workshop.root, str(workshop.root.path), actor="ann")

    assert refusal.value.code in {"source_not_a_repository", "root_overlaps"}


@pytest.mark.case("X05")
def test_a_stop_that_comes_while_links_are_read_launches_nothing(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = workshop.folder / "ran"
    task = workshop.add(f"open({str(proof)!r}, 'w')\n")
    before = links.before

    def stopping(*given: Any, **more: Any) -> Any:
        with workshop.database.transaction() as db:
            interventions.stop(db, task.id, actor="rev")
        return before(*given, **more)

    monkeypatch.setattr("workspace.inspection.links.before", stopping)
    rested = workshop.work(task)

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.started_at) == (AttemptState.cancelled, None)
    assert rested.state is TaskState.needs_human
    assert not proof.exists()


@pytest.mark.case("F02")
def test_an_inspection_that_fails_is_a_finding_and_the_workspace_is_kept(workshop: Workshop) -> None:
    script = "os.makedirs('deep'); os.chdir('deep'); [os.mkdir('d' * 200) or os.chdir('d' * 200) for _ in range(60)]\n"

    task = workshop.run(script)

    assert workshop.findings(task)
    assert task.state is TaskState.needs_human
    assert workshop.ledger(task) == []
    assert [row.state for row in workshop.allocations(task)] == ["quarantined"]
