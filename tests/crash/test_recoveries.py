"""A recovery is killed at every named point of its pass; the next one goes on from what the rows say."""

import signal

import pytest

from statemachine.tasks import TaskState
from store import interventions
from tests.crash.scenes import APPEND, STORY, UNSAFE, WAITING, Stage, at, between
from tests.recovery.scenes import expire
from tests.recovery.test_other_hosts import recovered_elsewhere
from tests.store.scenes import aged

pytestmark = [pytest.mark.case("R03"), pytest.mark.hazard("H102")]

INTERRUPTED = between("wreck_found", "wreck_cleared")
# A recovery that settles what its worker had seen the end of judges and commits as that would have.
KEPT = [*between("screened", "committed"), *between("wreck_inspected", "wreck_cleared")]
BETWEEN_ITEMS = ["requeueing", "requeued"]


@pytest.mark.case("R05")
@at(INTERRUPTED)
def test_a_recovery_killed_over_an_unsafe_tree_loses_no_finding(stage: Stage, point: str) -> None:
    task = stage.add(UNSAFE)
    stage.killed_at("agent_ended", "work")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.kinds(task)) == (TaskState.needs_human, ["new_symlink"])
    assert (rested.losses, len(stage.workshop.attempts(task))) == (1, 1)


@pytest.mark.case("R06")
@at(INTERRUPTED)
def test_a_recovery_killed_over_a_safe_tree_counts_one_loss_and_the_item_runs_again(stage: Stage, point: str) -> None:
    task = stage.add(WAITING)
    with stage.process("work") as worker:
        stage.workshop.heard()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    stage.seen_gone(worker)
    stage.killed_at(point, "recover")

    report = stage.workshop.recover()
    queued = stage.workshop.look(task)
    rested = stage.workshop.work(task)

    assert report.complete
    assert (queued.state, queued.losses) == (TaskState.queued, 1)
    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.show(rested.head, "a.txt")) == (TaskState.in_review, "a\nP1")


@pytest.mark.case("R02")
@at(BETWEEN_ITEMS)
def test_a_recovery_killed_between_items_leaves_the_next_claim_where_it_was(stage: Stage, point: str) -> None:
    task = stage.add(STORY, *())
    stage.killed_at("settled", "work")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in stage.workshop.attempts(task)] == ["failed", "completed"]


@at(["space_put_right"])
def test_a_recovery_killed_while_it_sets_workspaces_aside_finds_the_rest(stage: Stage, point: str) -> None:
    task = stage.add(UNSAFE)
    stage.killed_at("settled", "work")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert rested.state is TaskState.needs_human
    assert [row.state for row in stage.workshop.allocations(task)] == ["quarantined"]


@at(["head_published", "refs_repaired"])
def test_a_recovery_killed_while_it_repairs_refs_leaves_nothing_unreachable(stage: Stage, point: str) -> None:
    task = stage.add(APPEND)
    stage.killed_at("settled", "work")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, len(stage.workshop.attempts(task))) == (TaskState.in_review, 1)


@at(["spent_out"])
def test_a_recovery_killed_while_it_stops_a_task_without_budget_stops_it_once(stage: Stage, point: str) -> None:
    task = stage.add(APPEND)
    aged(stage.superuser_url, "UPDATE task SET budget = '1 s', spent = '2 s' WHERE id = %s", task.id)
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.events(task)) == (TaskState.needs_human, ["add", "hit_limit"])


@at(["scraps_found"])
def test_a_recovery_killed_among_the_scraps_of_a_killed_worker_leaves_none(stage: Stage, point: str) -> None:
    task = stage.add(APPEND)
    stage.killed_at("refs_published", "work")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert rested.state is TaskState.in_review


@pytest.mark.case("R04")
@at(KEPT)
def test_a_recovery_killed_over_a_kept_result_settles_it_once_and_runs_no_agent_again(stage: Stage, point: str) -> None:
    task = stage.add()
    stage.killed_at("result_kept", "work")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, [attempt.state for attempt in stage.workshop.attempts(task)]) == ("in_review", ["completed"])


@at(["workers_buried", "resting", "rested"])
def test_a_recovery_killed_over_a_stop_between_items_stops_the_task_once(stage: Stage, point: str) -> None:
    task = stage.add(STORY)
    stage.killed_at("settled", "work")
    with stage.workshop.database.transaction() as db:
        interventions.stop(db, task.id, actor="rev")
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.events(task)[-2:]) == (TaskState.needs_human, ["take_over", "halt"])


@pytest.mark.case("R21")
@at(["judging_late", "judged_late"])
def test_a_recovery_killed_over_a_tree_another_host_went_on_without_finds_once_what_is_in_it(
    stage: Stage, point: str
) -> None:
    task = stage.add(UNSAFE)
    stage.killed_at("agent_ended", "work")
    expire(stage.superuser_url, task)
    recovered_elsewhere(stage.workshop)
    stage.killed_at(point, "recover")

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert (rested.state, stage.workshop.kinds(task)) == (TaskState.needs_human, ["new_symlink"])
