"""A merge is killed at every named point; reconciled, it has happened once or not at all."""

import pytest

from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store import merges
from store.tasks import Task
from tests.crash.scenes import APPEND, Stage, at, between
from tests.factories import git
from worker import landing

pytestmark = [pytest.mark.case("R03", "M07"), pytest.mark.hazard("H102")]

# Where a task is once its killed merge is reconciled, and how that merge ended.
AFTER = {
    "target_seen": (TaskState.approved, []),
    "merge_begun": (TaskState.merge_blocked, ["failed"]),
    "push_marked": (TaskState.merge_blocked, ["failed"]),
    "pushed": (TaskState.merged, ["merged"]),
    "confirming": (TaskState.merged, ["merged"]),
    "confirmed": (TaskState.merged, ["merged"]),
}


def approved(stage: Stage) -> Task:
    return stage.workshop.approve(stage.workshop.work(stage.add(APPEND)))


def merged(stage: Stage, task: Task) -> Task:
    return landing.merge(
        stage.workshop.database,
        stage.workshop.root,
        task.id,
        actor="rev",
        strategy=None,
        if_version=None,
        author_may_approve=True,
    )


def states(stage: Stage, task: Task) -> list[str]:
    with stage.workshop.database.connection() as db:
        return [merge.state.value for merge in merges.listing(db, task.id)]


@at(between("target_seen", "confirmed"))
def test_a_merge_killed_at_any_point_is_merged_once_or_failed(stage: Stage, point: str) -> None:
    left, reconciled = AFTER[point]
    task = approved(stage)
    stage.killed_at(point, "merge", task.id)
    early = stage.workshop.recover()
    stage.lapse_merges()

    report = stage.workshop.recover()
    found = stage.workshop.look(task)
    done = found if found.state is TaskState.merged else merged(stage, task)

    assert (early.complete, report.complete) == (True, True)
    assert (found.state, states(stage, task)[: len(reconciled)]) == (left, reconciled)
    assert stage.wrongs() == []
    assert done.state is TaskState.merged
    assert states(stage, task).count("merged") == 1
    assert git(stage.workshop.repository, "rev-list", "--count", "main") == "2"
    assert git(stage.workshop.repository, "rev-parse", "main") == task.head


@at(["failing", "failed"])
def test_a_refused_merge_killed_while_that_is_written_down_fails_once(stage: Stage, point: str) -> None:
    task = approved(stage)
    hook = stage.workshop.repository / ".git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    stage.killed_at(point, "merge", task.id)
    stage.lapse_merges()

    stage.workshop.recover()

    with pytest.raises(Refusal) as refused:
        merged(stage, task)
    assert refused.value.code == "target_refused"
    assert stage.wrongs() == []
    assert (stage.workshop.look(task).state, states(stage, task)) == (TaskState.merge_blocked, ["failed", "failed"])
    assert git(stage.workshop.repository, "rev-parse", "main") == task.base


@at(["target_read", "merge_ended"])
@pytest.mark.parametrize(("killed", "state"), [("push_marked", "merge_blocked"), ("pushed", "merged")])
def test_a_recovery_killed_while_it_reconciles_ends_the_merge_once(
    stage: Stage, point: str, killed: str, state: str
) -> None:
    task = approved(stage)
    stage.killed_at(killed, "merge", task.id)
    stage.lapse_merges()
    stage.killed_at(point, "recover")

    stage.workshop.recover()

    assert stage.wrongs() == []
    assert (stage.workshop.look(task).state, len(states(stage, task))) == (state, 1)
