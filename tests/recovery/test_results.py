"""What a dead worker had seen the end of is settled as it would have; what it kept of that is a hint and no proof."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from statemachine.attempts import AttemptState, StopReason
from statemachine.tasks import TaskState
from store import tasks
from store.tasks import Task
from tests.factories import git
from tests.recovery.scenes import (
    HOLD,
    UNSAFE,
    arming,
    everything,
    files,
    handle,
    kill_at,
    kill_working,
    orphan,
    quiet,
    result_of,
    said,
    unsaid,
)
from tests.store.scenes import stop
from tests.workshop import Workshop, edit, item
from workspace import executors
from workspace.agents import endings
from workspace.agents.endings import Ending, Kept, Log
from workspace.executors import Place
from workspace.inspection.links import LinkState
from workspace.repository import repositories as runners
from workspace.results.commits import Identity

S, A = TaskState, AttemptState
UPDATE = " update-ref "
APPEND = "open({'P1': 'a.txt', 'P2': 'src/x.py'}[item], 'a').write(f'# {item}\\n')\nprint('done', item)\n"
# Whom the command's own worker signs as.
ITS = Identity("Weighlock", "weighlock@localhost")
RAN_ONCE = "assert turn == 1, 'the agent ran again'\n"


def cut_at_the_commit(workshop: Workshop, superuser_url: str, script: str, *items: Any, **more: Any) -> Task:
    """Kill a worker right after git kept its agent's work, before any row says so."""
    task = workshop.add(script + arming(workshop), *items, **more)
    kill_at(workshop, superuser_url, UPDATE, after=True)
    return task


# ---------------------------------------------------------------- settled as the worker would have


@pytest.mark.case("R04", "F16", "R01")
def test_an_equal_tree_is_settled_under_the_same_commit_and_the_agent_is_not_run_again(
    workshop: Workshop, superuser_url: str
) -> None:
    task = cut_at_the_commit(workshop, superuser_url, RAN_ONCE + APPEND)
    attempt = workshop.attempts(task)[0]
    kept = workshop.refs()[f"refs/weighlock/attempts/{attempt.id}"]

    report, again = workshop.recover(identity=ITS), workshop.recover(identity=ITS)
    queued, settled = workshop.look(task), workshop.attempts(task)[0]
    rested = workshop.work(task)

    assert [what for _, what in said(report)] == ["queued", "workspace_quarantined", "refs_repaired"]
    assert "attempt 1 was running and is completed" in report.lines[0].detail
    assert (said(again), unsaid(report)) == ([], [])
    assert (settled.state, settled.exit_code, settled.outcome, settled.commit) == (A.completed, 0, "commit", kept)
    assert (queued.state, queued.head, queued.losses) == (S.queued, kept, 0)
    assert workshop.refs() == {f"refs/weighlock/base/{task.id}": task.base, f"refs/weighlock/tasks/{task.id}": kept}
    (log,) = workshop.outputs(task)
    assert (log.kind, log.tail, Path(log.path).name) == ("log", "done P1\n", "output.log")
    assert (rested.state, len(workshop.attempts(task))) == (S.in_review, 1)


@pytest.mark.case("R04")
def test_the_next_claim_goes_on_with_the_item_after_it(workshop: Workshop, superuser_url: str) -> None:
    two = item("P1", edit("a.txt")), item("P2", edit("src/x.py"))
    task = cut_at_the_commit(workshop, superuser_url, RAN_ONCE + APPEND, *two)

    workshop.recover()
    rested = workshop.work(task)

    assert rested.state is S.in_review
    assert [attempt.item_id for attempt in workshop.attempts(task)] == ["P1", "P2"]
    assert [entry.item_id for entry in workshop.ledger(task)] == ["P1", "P2"]


@pytest.mark.case("R04")
@pytest.mark.parametrize(
    ("script", "retries", "ends"),
    [
        (APPEND + "sys.exit(3)\n", 1, (A.failed, S.queued, 1)),
        (APPEND + "sys.exit(3)\n", 0, (A.failed, S.needs_human, 1)),
        (APPEND + "open('src/x.py', 'a').write('y\\n')\n", 1, (A.completed, S.needs_amendment, 0)),
        (APPEND + UNSAFE, 1, (A.failed, S.needs_human, 1)),
    ],
    ids=["a retry left", "no retry left", "out of scope", "unsafe"],
)
def test_every_end_its_worker_saw_is_the_end_it_has(
    workshop: Workshop, superuser_url: str, script: str, retries: int, ends: tuple[object, ...]
) -> None:
    one = item("P1", edit("a.txt"), retries=retries)
    task = cut_at_the_commit(workshop, superuser_url, arming(workshop) + script, one)

    report = workshop.recover()

    now = workshop.look(task)
    assert (workshop.attempts(task)[0].state, now.state, now.failures) == ends
    assert unsaid(report) == []
    assert (workshop.pause(task) is not None) == (now.state is S.needs_amendment)


@pytest.mark.case("R04")
def test_who_signs_may_have_changed_meanwhile(workshop: Workshop, superuser_url: str) -> None:
    task = cut_at_the_commit(workshop, superuser_url, APPEND)
    other = Identity("Somebody Else", "else@example.org")

    report = workshop.recover(identity=other)

    assert (unsaid(report), workshop.kinds(task)) == ([], [])
    assert workshop.attempts(task)[0].state is A.completed
    assert "Somebody Else" in git(workshop.runner().path, "cat-file", "commit", workshop.look(task).head)


@pytest.mark.case("R04")
@pytest.mark.parametrize(
    ("why", "ends"), [(StopReason.user, (A.cancelled, S.needs_human)), (StopReason.shutdown, (A.stopped, S.queued))]
)
def test_a_stop_that_was_asked_for_counts_before_what_its_worker_saw(
    workshop: Workshop, superuser_url: str, why: StopReason, ends: tuple[object, ...]
) -> None:
    task = cut_at_the_commit(workshop, superuser_url, APPEND)
    stop(workshop.database, task, why, actor="rev")

    workshop.recover()

    assert (workshop.attempts(task)[0].state, workshop.look(task).state) == ends
    assert (workshop.ledger(task), workshop.look(task).head) == ([], task.base)


@pytest.mark.case("R04", "R18")
def test_a_dry_run_says_how_it_would_be_settled_and_keeps_nothing(workshop: Workshop, superuser_url: str) -> None:
    task = cut_at_the_commit(workshop, superuser_url, APPEND)
    quiet(handle(workshop, task))
    rows, disk = everything(superuser_url), files(workshop.root.path)

    dry = workshop.recover(dry_run=True)
    changed = everything(superuser_url) == rows, files(workshop.root.path) == disk
    wet = workshop.recover()

    assert changed == (True, True)
    assert (dry.lines, dry.unfinished) == (wet.lines, wet.unfinished)


# ---------------------------------------------------------------- what a hint cannot do


def rewrite(workshop: Workshop, task: Task, **changes: Any) -> None:
    """Write into a result file what it does not say."""
    place = result_of(workshop, task)
    document = json.loads(place.read_text(encoding="ascii"))
    place.write_text(json.dumps({**document, **changes}), encoding="ascii")


def as_a_pipe(workshop: Workshop, task: Task) -> None:
    result_of(workshop, task).unlink()
    os.mkfifo(result_of(workshop, task))


def as_a_link(workshop: Workshop, task: Task) -> None:
    place = result_of(workshop, task)
    place.rename(workshop.folder / "elsewhere.json")
    place.symlink_to(workshop.folder / "elsewhere.json")


def without_end(workshop: Workshop, task: Task) -> None:
    result_of(workshop, task).write_text("[" * 100_000, encoding="ascii")


def too_long(workshop: Workshop, task: Task) -> None:
    place = result_of(workshop, task)
    place.write_text(place.read_text(encoding="ascii") + " " * endings.LONGEST, encoding="ascii")


SPOILED: dict[str, Callable[[Workshop, Task], object]] = {
    "gone": lambda workshop, task: result_of(workshop, task).unlink(),
    "pipe": as_a_pipe,
    "link": as_a_link,
    "nested": without_end,
    "too long": too_long,
    "of another attempt": lambda workshop, task: rewrite(
        workshop, task, attempt="12345678-1234-4234-8234-123456789abc"
    ),
    "of another epoch": lambda workshop, task: rewrite(workshop, task, epoch=7),
    "of another tree": lambda workshop, task: rewrite(workshop, task, manifest="0" * 64),
    "says more": lambda workshop, task: rewrite(workshop, task, more=1),
    "says true for one": lambda workshop, task: rewrite(workshop, task, epoch=True),
}


@pytest.mark.case("R04", "R13")
@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
def test_whatever_is_no_result_of_this_very_tree_leaves_the_attempt_interrupted(
    workshop: Workshop, superuser_url: str, spoil: Callable[[Workshop, Task], object]
) -> None:
    task = cut_at_the_commit(workshop, superuser_url, APPEND)
    spoil(workshop, task)

    report = workshop.recover()

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.exit_code, attempt.commit, workshop.ledger(task)) == (A.interrupted, None, None, [])
    assert (workshop.look(task).state, workshop.kinds(task), unsaid(report)) == (S.queued, [], [])
    assert [output.kind for output in workshop.outputs(task)] == ["diff"]


@pytest.mark.case("R04", "R05")
def test_a_tree_that_is_not_what_its_worker_saw_is_judged_as_it_is(workshop: Workshop, superuser_url: str) -> None:
    task = cut_at_the_commit(workshop, superuser_url, APPEND)
    os.symlink("/etc/passwd", Path(workshop.allocations(task)[0].path or "") / "link")

    workshop.recover()

    assert workshop.kinds(task) == ["new_symlink"]
    assert (workshop.attempts(task)[0].state, workshop.look(task).state) == (A.interrupted, S.needs_human)
    assert workshop.ledger(task) == []


def forge(workshop: Workshop, task: Task) -> None:
    """Write the result that an agent of this user could have written about its own tree: all is well."""
    attempt, held = workshop.attempts(task)[-1], workshop.allocations(task)[-1]
    folder = result_of(workshop, task).parent
    place = Place(
        root=workshop.root,
        repo=runners.open_repository(workshop.root, UUID(workshop.runner().path.stem)),
        task=task.id,
        epoch=held.epoch,
        allocation=held.id,
        base=attempt.base,
        path=held.path,
        baseline=held.baseline,
    )
    links = LinkState(json.loads((folder / "links.json").read_text(encoding="ascii")))
    seen = executors.find("local").inspect(place, spool=workshop.folder / "spool", links=links)
    fine = Ending(exit_code=0, log=Log(size=0, sha256="0" * 64, truncated=False, tail=""))
    endings.keep(folder, Kept(attempt=attempt.id, epoch=held.epoch, manifest=seen.digest, ending=fine))


@pytest.mark.case("R04", "F07")
def test_a_forged_result_clears_nothing_that_is_in_the_tree(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(UNSAFE + HOLD)
    kill_working(workshop, superuser_url)
    quiet(handle(workshop, task))
    forge(workshop, task)

    workshop.recover()

    assert (workshop.kinds(task), workshop.look(task).state) == (["new_symlink"], S.needs_human)
    assert workshop.ledger(task) == []


@pytest.mark.case("R04", "R14")
def test_a_result_counts_for_nothing_while_anything_of_its_agent_is_alive(
    workshop: Workshop, superuser_url: str
) -> None:
    orphan(workshop, superuser_url, "start_new_session=True", kill_agent=False)
    with workshop.database.connection() as db:
        task = tasks.get(db, 1)
    forge(workshop, task)

    workshop.recover()

    assert workshop.attempts(task)[0].state is A.interrupted
    assert workshop.ledger(task) == []


@pytest.mark.case("S15", "F16")
def test_what_outlived_the_agent_is_a_finding_although_only_its_dead_worker_saw_it(
    workshop: Workshop, superuser_url: str
) -> None:
    left = "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'], start_new_session=True)\n"
    task = cut_at_the_commit(workshop, superuser_url, APPEND + left)

    workshop.recover()

    assert workshop.kinds(task) == ["leftover_process"]
    assert workshop.look(task).state is S.needs_human
