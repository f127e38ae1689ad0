"""What lies in the root and belongs to nobody we know is named and left alone; what was lost from sight is kept."""

import json
import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from cli.acts import working
from recovery.passes import recover
from store.engine import open_database
from tests.factories import a_running_task, an_attempt
from tests.recovery.scenes import (
    PARTIAL,
    admit,
    everything,
    files,
    handle,
    kill_working,
    quiet,
    ready,
    said,
    shut,
    unsaid,
)
from tests.store.scenes import asked
from tests.workshop import Workshop
from workspace.disk.roots import Root, open_root
from workspace.places import inventory
from workspace.places.inventory import Stored
from workspace.results.commits import Identity


def unknown(workshop: Workshop) -> list[str]:
    return [line.detail.split()[0] for line in workshop.recover().unknown]


def a_strangers_workspace(workshop: Workshop, *, owner: str | None = None) -> Path:
    """Make a folder as the product would, for an allocation this database has no row of."""
    allocation = uuid4().hex
    folder = workshop.root.workspaces / f"7-1-{allocation}"
    folder.mkdir()
    (folder / "work.txt").write_text("mine\n")
    proof = {"allocation": allocation, "owner": owner or workshop.root.owner.hex}
    folder.with_name(f"{folder.name}.owner").write_text(json.dumps(proof))
    return folder


@pytest.mark.case("R11")
def test_storage_without_a_row_is_named_with_a_command_and_untouched(workshop: Workshop) -> None:
    task = workshop.run("open('a.txt', 'a').write('x\\n')\nopen('b.txt', 'w').write('x\\n')\n")
    strange = [
        a_strangers_workspace(workshop),
        workshop.root.workspaces / "notes",
        workshop.root.workspaces / "1-1-nonsense.owner",
        workshop.root.attempts / str(uuid4()),
        workshop.root.attempts / "mine",
        workshop.root.repositories / f"{uuid4().hex}.git",
    ]
    for folder in strange[1:]:
        folder.mkdir()
    before = files(workshop.root.path)

    report = workshop.recover()

    assert sorted(line.detail.split()[0] for line in report.unknown) == sorted(map(str, strange))
    assert all(f"rm -r -- {line.detail.split()[0]}" in line.hint for line in report.unknown)
    assert (said(report), report.complete, files(workshop.root.path)) == ([], True, before)
    assert task.id == 1


@pytest.mark.case("R11")
def test_a_workspace_of_another_installation_is_named_even_where_a_row_knows_it(workshop: Workshop) -> None:
    task = a_running_task(workshop.database, workshop.add(""))
    held = ready(workshop.database, an_attempt(workshop.database, task, launched=False))
    folder = workshop.root.workspaces / f"{task.id}-{held.epoch}-{held.id.hex}"
    folder.mkdir()
    proof = {"allocation": held.id.hex, "owner": uuid4().hex}
    folder.with_name(f"{folder.name}.owner").write_text(json.dumps(proof))
    before = files(workshop.root.path)

    report = workshop.recover()

    assert [line.detail for line in report.unknown] == [f"{folder} is left alone: its proof names another owner"]
    assert files(workshop.root.path) == before


@pytest.mark.case("R12")
def test_however_old_a_workspace_looks_it_stays(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(PARTIAL)
    kill_working(workshop, superuser_url)
    quiet(handle(workshop, task))
    tree = Path(workshop.allocations(task)[0].path or "")
    for place in (tree, workshop.root.workspaces, a_strangers_workspace(workshop)):
        os.utime(place, (0, 0))

    workshop.recover()

    assert (tree / "a.txt").read_text() == "a\nhalf\n"
    assert len(unknown(workshop)) == 1


@pytest.mark.case("R12")
def test_under_a_root_that_was_moved_away_nothing_is_removed_here_or_there(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(PARTIAL)
    kill_working(workshop, superuser_url)
    quiet(handle(workshop, task))
    away = workshop.folder / "away"
    workshop.root.path.rename(away)
    open_root(workshop.root.path)
    before, rows = files(away), everything(superuser_url, without=("worker",))

    lost = workshop.recover()
    between = files(away), everything(superuser_url, without=("worker",))
    shutil.rmtree(workshop.root.path)
    away.rename(workshop.root.path)
    found = workshop.recover()

    assert (unsaid(lost)[0], between) == ((task.id, "repository_missing"), (before, rows))
    assert said(found)[0] == (task.id, "queued")
    assert [output.kind for output in workshop.outputs(task)] == ["diff"]


@pytest.mark.case("R12")
def test_a_link_in_place_of_a_workspace_leads_nowhere(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(PARTIAL)
    kill_working(workshop, superuser_url)
    quiet(handle(workshop, task))
    tree = Path(workshop.allocations(task)[0].path or "")
    mine = workshop.folder / "mine"
    tree.rename(mine)
    tree.symlink_to(mine)
    before = files(mine)

    workshop.recover()

    assert workshop.kinds(task) == ["inspection_failed"]
    assert (files(mine), tree.is_symlink()) == (before, True)


@pytest.mark.case("R12", "R10")
def test_a_database_that_goes_away_during_the_sweep_ends_it_with_everything_in_place(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.run(PARTIAL.replace("ring(), hold()", "0"))
    a_strangers_workspace(workshop)
    before, name = files(workshop.root.path), asked(superuser_url, "SELECT current_database()")[0][0]
    impatient = open_database(workshop.url, state=workshop.folder, name="test", patience=timedelta(milliseconds=1))
    look = inventory.workspaces

    def look_alone(root: Root) -> Iterator[Stored]:
        shut(superuser_url, name)
        return look(root)

    with monkeypatch.context() as patch:
        patch.setattr("workspace.places.inventory.workspaces", look_alone)
        report = recover(impatient, workshop.root, actor="recovery", identity=Identity(), conclude=working.conclude)
    impatient.close()
    admit(superuser_url, name)

    ((_, code),) = unsaid(report)
    assert code in {"database_unreachable", "commit_ambiguous"}  # the line that was cut was idle, or was not
    assert report.unknown == ()
    assert files(workshop.root.path) == before
