"""Executors: which there are, and the whole way of an agent through those that keep it in a folder of this host."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from tests import gits
from tests.agents import MINUTE, ended
from tests.sandboxes import needs_sandbox
from workspace.agents.environments import environment
from workspace.agents.processes import Exit
from workspace.disk.roots import open_root
from workspace.executors import Executor, Order, Place, find
from workspace.results.commits import Identity

FILES: dict[str, str | bytes] = {"a.txt": "one\n", "src/x.py": "print(1)\n"}


@dataclass(frozen=True, slots=True)
class Bench:
    """Hold an executor, a place that is ready, and a folder for what attempts leave."""

    executor: Executor
    place: Place
    attempt: Path

    def run(self, script: str) -> Exit:
        """Attach, launch and wait, as a worker does."""
        attachment = self.executor.attach(self.place, spool=self.attempt / f"attach-{uuid4().hex}")
        assert attachment.admitted
        given = environment(
            attempt=uuid4(),
            task=self.place.task,
            item="P1",
            prompt_file=self.attempt / "prompt.md",
            temporary=self.attempt,
            home=self.attempt,
        )
        order = Order(
            argv=("sh", "-c", script),
            environment=given,
            output=self.attempt / f"output-{uuid4().hex}",
            room=self.attempt,
            identity=attachment.identity,
        )
        with self.executor.launch(self.place, order) as held:
            return ended(held.let_go())


LOCAL = pytest.mark.parametrize("bench", ["local"], indirect=True)


@pytest.fixture(params=["local", "sandbox"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    repo, base = gits.runner(tmp_path, gits.person(tmp_path / "person", FILES))
    if request.param == "sandbox":
        needs_sandbox()
    executor = find(request.param)
    root = open_root(tmp_path / "root")
    place = Place(root=root, repo=repo, task=7, epoch=3, allocation=uuid4(), base=base)
    made = executor.materialise(place)
    attempt = root.attempts / "one"
    attempt.mkdir()
    return Bench(executor, replace(place, path=made.path, baseline=made.baseline), attempt)


def test_local_is_found_and_says_what_it_does_not_protect() -> None:
    found = find("local")

    found.probe()
    assert found.name == "local"
    assert found.commits_watched
    assert "\n" not in found.unprotected
    for exposed in ("your own user", "network", "home", "other files", "environment"):
        assert exposed in found.unprotected


@pytest.mark.case("W20")
@pytest.mark.parametrize("name", ["docker", "docker:desktop", "ssh", "ssh:host"])
def test_what_is_not_there_yet_is_never_replaced_by_something_weaker(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        find(name)

    assert refused.value.code == "executor_unavailable"
    assert "--executor local" in refused.value.hint


@pytest.mark.parametrize("name", ["", "Local", "podman", "local:elsewhere", " local", "lo\ncal"])
def test_an_unknown_name_is_told_the_known_ones(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        find(name)

    assert refused.value.code == "executor_unknown"
    for known in ("local", "sandbox", "docker", "ssh"):
        assert known in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_fresh_workspace_is_the_base_in_the_allocations_own_folder(bench: Bench) -> None:
    attachment = bench.executor.attach(bench.place, spool=bench.attempt / "spool")

    assert bench.place.folder.name == f"7-3-{bench.place.allocation.hex}"
    assert (bench.place.folder / "a.txt").read_text() == "one\n"
    assert attachment.admitted
    assert attachment.links.refusals == ()


def test_the_agent_works_in_it_with_a_git_of_its_own(bench: Bench) -> None:
    finished = bench.run("pwd; git status --porcelain; git log --format=%s; git branch --show-current")

    assert (finished.code, finished.leftovers) == (0, ())
    assert finished.output.tail.splitlines() == [str(bench.place.folder), "base", "task-7"]


def test_what_the_agent_did_is_inspected_and_kept(bench: Bench) -> None:
    finished = bench.run("echo two >> a.txt; mkdir new; echo new > new/file; rm src/x.py; exit 3")

    inspection = bench.executor.inspect(bench.place, spool=bench.attempt / "spool", leftovers=finished.leftovers)
    bench.executor.recheck(inspection)
    partial = bench.executor.export(
        bench.place, inspection, attempt=uuid4(), author=Identity(), date=gits.WHEN, path=bench.attempt / "partial.diff"
    )

    changes = {change["path"]: change["kind"] for change in inspection.manifest["changes"]}
    assert finished.code == 3
    assert changes == {"a.txt": "modify", "new/file": "add", "src/x.py": "delete"}
    assert not inspection.manifest["metadata_changed"]
    assert "+two" in partial.path.read_text()
    assert partial.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.case("S15")
def test_a_child_that_outlived_the_agent_is_in_the_manifest(bench: Bench) -> None:
    finished = bench.run("setsid sleep 600 & exit 0")

    inspection = bench.executor.inspect(bench.place, spool=bench.attempt / "spool", leftovers=finished.leftovers)

    (left,) = inspection.manifest["leftover_processes"]
    assert "sleep 600" in left["command"]
    assert finished.proven_gone


@LOCAL
def test_a_supervisor_killed_by_the_agent_is_in_the_manifest(bench: Bench) -> None:
    finished = bench.run("kill -KILL $PPID; exec sleep 600")

    inspection = bench.executor.inspect(bench.place, spool=bench.attempt / "spool", leftovers=finished.leftovers)

    assert finished.supervisor_lost
    assert "supervisor" in inspection.manifest["leftover_processes"][0]["command"]


@LOCAL
def test_a_commit_of_the_agent_is_noticed(bench: Bench) -> None:
    bench.run("echo two > a.txt; git commit -qam mine")

    inspection = bench.executor.inspect(bench.place, spool=bench.attempt / "spool")

    assert inspection.manifest["agent_commits"]


def test_a_tree_that_is_not_the_base_is_not_attached(bench: Bench) -> None:
    (bench.place.folder / "a.txt").write_text("other\n")

    attachment = bench.executor.attach(bench.place, spool=bench.attempt / "spool", declared_links=["a.txt"])

    assert attachment.admission.code == "tree_unfit"
    assert not attachment.admitted
    assert attachment.links.document["links"] == {}


@pytest.mark.case("W05")
def test_a_workspace_that_is_gone_is_missing_and_nothing_is_made(bench: Bench) -> None:
    moved = bench.place.folder.rename(bench.place.root.path / "moved")

    attachment = bench.executor.attach(bench.place, spool=bench.attempt / "spool")

    assert attachment.admission.code == "workspace_missing"
    assert not bench.place.folder.exists()
    assert moved.exists()


def test_a_folder_swapped_after_the_attachment_is_not_run_in(bench: Bench) -> None:
    attachment = bench.executor.attach(bench.place, spool=bench.attempt / "spool")
    bench.place.folder.rename(bench.place.root.path / "moved")
    bench.place.folder.mkdir()
    order = Order(
        argv=("touch", "ran"),
        environment={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        output=bench.attempt / "output",
        room=bench.attempt,
        identity=attachment.identity,
    )

    try:
        failed: object = ended(bench.executor.launch(bench.place, order).let_go()).launch_error
    except Refusal as refused:
        failed = refused

    assert failed is not None
    assert list(bench.place.folder.iterdir()) == []


def test_declared_links_are_looked_along(tmp_path: Path) -> None:
    source = gits.person(tmp_path / "person", FILES)
    (source / "link").symlink_to("a.txt")
    gits.commit(source, {})
    repo, base = gits.runner(tmp_path, source)
    executor, root = find("local"), open_root(tmp_path / "root")
    place = Place(root=root, repo=repo, task=7, epoch=1, allocation=uuid4(), base=base)
    made = executor.materialise(place)
    place = replace(place, path=made.path, baseline=made.baseline)

    attachment = executor.attach(place, spool=root.attempts / "one", declared_links=["link"])
    (place.folder / "a.txt").write_text("through the link\n")
    inspection = executor.inspect(place, spool=root.attempts / "two", links=attachment.links)

    assert attachment.links.document["links"]["link"]["state"] == "present"
    assert [each["path"] for each in inspection.manifest["links_changed"]] == ["link"]


def test_an_agent_can_be_stopped_and_its_rest_ended(bench: Bench) -> None:
    order = Order(
        argv=("sleep", "600"),
        environment={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        output=bench.attempt / "output",
        room=bench.attempt,
        time_limit=MINUTE,
    )
    running = bench.executor.launch(bench.place, order).let_go()

    there = bench.executor.leftovers(running.handle)
    finished = bench.executor.stop(running)

    assert running.handle.pid in {one.process.pid for one in there}
    assert finished.signal is not None
    assert bench.executor.leftovers(running.handle) == ()
    assert bench.executor.end_leftovers(running.handle)


def test_a_released_workspace_is_gone_and_a_retired_one_is_not(bench: Bench) -> None:
    bench.executor.retire(bench.place)
    kept = (bench.place.folder / "a.txt").read_text()

    released = bench.executor.release(bench.place)

    assert kept == "one\n"
    assert released.gone
    assert not bench.place.folder.exists()


def test_a_folder_of_somebody_else_is_not_released(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("keep")

    with pytest.raises(Refusal) as refused:
        bench.executor.release(replace(bench.place, path=str(other)))

    assert refused.value.code == "workspace_mismatch"
    assert (other / "file").read_text() == "keep"
