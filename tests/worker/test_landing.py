"""An approved result reaches its target once, whatever the target looks like."""

import subprocess
from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store.tasks import Task
from tests.factories import a_commit, git
from tests.workshop import Workshop
from worker import landing

WRITE = "open('a.txt', 'a').write('x')\n"


def approved(workshop: Workshop) -> Task:
    return workshop.approve(workshop.run(WRITE))


def merge(workshop: Workshop, task: Task, **more: object) -> Task:
    given = {"actor": "rev", "strategy": None, "if_version": None, "author_may_approve": False, **more}
    return landing.merge(workshop.database, workshop.root, task.id, **given)  # type: ignore[arg-type]


def refused(workshop: Workshop, task: Task, **more: object) -> str:
    with pytest.raises(Refusal) as refusal:
        merge(workshop, task, **more)
    return refusal.value.code


@pytest.mark.case("M10")
def test_a_clean_checked_out_branch_and_its_work_tree_follow(workshop: Workshop) -> None:
    task = approved(workshop)

    merged = merge(workshop, task)

    assert merged.state is TaskState.merged
    assert git(workshop.repository, "rev-parse", "main") == task.head
    assert (workshop.repository / "a.txt").read_text(encoding="utf-8") == "a\nx"
    assert git(workshop.repository, "status", "--porcelain") == ""


@pytest.mark.case("M10")
def test_a_dirty_work_tree_is_refused_and_nothing_is_touched(workshop: Workshop) -> None:
    task = approved(workshop)
    (workshop.repository / "a.txt").write_text("mine\n", encoding="utf-8")

    code = refused(workshop, task)

    assert code == "target_checked_out"
    assert workshop.look(task).state is TaskState.approved
    assert (workshop.repository / "a.txt").read_text(encoding="utf-8") == "mine\n"


def test_a_bare_target_gets_the_branch_moved(workshop: Workshop) -> None:
    bare = workshop.folder / "bare.git"
    git(workshop.folder, "clone", "--quiet", "--bare", str(workshop.repository), str(bare))
    workshop.repository = bare

    task = approved(workshop)
    merged = merge(workshop, task)

    assert merged.state is TaskState.merged
    assert git(bare, "rev-parse", "refs/heads/main") == task.head


@pytest.mark.case("M06")
def test_a_hook_of_the_target_that_says_no_blocks_the_merge_and_the_approval_stands(workshop: Workshop) -> None:
    task = approved(workshop)
    hook = Path(workshop.repository, ".git", "hooks", "pre-receive")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not on a friday\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)

    code = refused(workshop, task)
    blocked = workshop.look(task).state
    hook.unlink()
    merged = merge(workshop, task)

    assert (code, blocked, merged.state) == ("target_refused", TaskState.merge_blocked, TaskState.merged)
    assert workshop.events(task)[-4:] == ["begin_merge", "fail_merge", "begin_merge", "confirm_merge"]


@pytest.mark.case("M13")
def test_a_target_that_holds_the_result_already_is_merged_without_a_push(workshop: Workshop) -> None:
    task = approved(workshop)
    git(workshop.repository, "fetch", "--quiet", str(workshop.runner().path), task.head)
    git(workshop.repository, "merge", "--quiet", "--ff-only", task.head)

    merged = merge(workshop, task)

    assert merged.state is TaskState.merged
    assert "begin_merge" not in workshop.events(task)


def test_a_target_that_moved_on_is_not_a_fast_forward(workshop: Workshop) -> None:
    task = approved(workshop)
    a_commit(workshop.repository, {"other.txt": "o\n"})

    with pytest.raises(Refusal) as refusal:
        merge(workshop, task)

    assert (refusal.value.code, refused(workshop, task, strategy="ff")) == ("not_fast_forward", "not_fast_forward")
    tip = git(workshop.repository, "rev-parse", "main")
    assert f"main has moved: it is at {tip[:7]}, and this result began at {task.base[:7]}" in refusal.value.message
    assert f"tasks export {task.id} --format patch | git -C {workshop.repository} am" in refusal.value.hint
    assert workshop.look(task).state is TaskState.approved


@pytest.mark.case("M01")
def test_what_is_not_approved_is_not_merged(workshop: Workshop) -> None:
    task = workshop.run(WRITE)

    assert refused(workshop, task) == "not_mergeable"


def test_nobody_merges_their_own_work_unless_the_policy_lets_them(workshop: Workshop) -> None:
    task = workshop.run(WRITE)
    own = workshop.approve(task, by="ann")

    assert refused(workshop, own) == "approver_is_author"
    assert merge(workshop, own, author_may_approve=True).state is TaskState.merged


@pytest.mark.case("K01")
def test_until_the_merge_nothing_of_the_persons_repository_changes(workshop: Workshop) -> None:
    before = snapshot(workshop.repository)

    approved(workshop)

    assert snapshot(workshop.repository) == before


def snapshot(folder: Path) -> str:
    """Describe every file of a repository with its content and time."""
    listing = ["find", ".", "-type", "f", "-printf", "%p %s %T@ %m\\n", "-exec", "sha256sum", "{}", ";"]
    return subprocess.run(listing, cwd=folder, check=True, capture_output=True, text=True).stdout
