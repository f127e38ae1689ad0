"""A worker is killed at every named point of an attempt; after recovery everything is as if it had not been."""

import pytest

from statemachine.attempts import AttemptKind
from statemachine.tasks import TaskState
from tests.crash.scenes import OUTSIDE, STORY, TWO, UNSAFE, Stage, at, between

pytestmark = [pytest.mark.case("R03"), pytest.mark.hazard("H102")]


@at(between("claimed", "moved_on"))
def test_killed_at_any_point_every_item_is_done_once(stage: Stage, point: str) -> None:
    task = stage.add(STORY, *TWO)
    stage.killed_at(point, "work")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, rested.losses) == (TaskState.in_review, 0)
    assert [entry.item_id for entry in stage.workshop.ledger(task)] == ["P1", "P2"]
    assert stage.workshop.show(rested.head, "a.txt") == "a\nP1"
    assert stage.workshop.show(rested.head, "src/x.py") == "x = 1\nP2"


@pytest.mark.case("F16")
@at(["agent_ended", "inspected", "screened", "exported", "settling", "settled", "refs_published"])
def test_killed_anywhere_around_an_unsafe_change_its_finding_is_owed_once(stage: Stage, point: str) -> None:
    task = stage.add(UNSAFE)
    stage.killed_at(point, "work")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, rested.owed_findings) == (TaskState.needs_human, 1)
    assert stage.workshop.kinds(task) == ["new_symlink"]
    assert stage.workshop.ledger(task) == []


@at(["committed", "settling", "settled", "refs_published", "space_removed"])
def test_killed_anywhere_around_a_scope_pause_it_is_owed_once(stage: Stage, point: str) -> None:
    task = stage.add(OUTSIDE)
    stage.killed_at(point, "work")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, rested.owed_pauses) == (TaskState.needs_amendment, 1)
    assert [entry.item_id for entry in stage.workshop.ledger(task)] == ["P1"]
    assert stage.workshop.changed(rested.head) == ["M\ta.txt", "A\tmore.txt"]


@at(["admitted", "space_ready", "agent_let_go", "settling", "settled", "space_released"])
def test_killed_while_checks_run_they_pass_on_the_same_head(stage: Stage, point: str) -> None:
    task = stage.add(checks=("grep -q P1 a.txt",))
    queued = stage.workshop.work(task, kinds=(AttemptKind.execute,))
    stage.killed_at(point, "work")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, rested.head) == (TaskState.in_review, queued.head)
    assert [(result.command, result.passed) for result in stage.workshop.results(task)] == [("grep -q P1 a.txt", True)]
