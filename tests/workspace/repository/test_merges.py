"""Merging: one branch of a person's repository moves by compare-and-swap, and their work tree with it or not at all."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import LostRace, Refusal
from tests import gits
from workspace.repository import merges
from workspace.repository.repositories import RunnerRepository
from workspace.results import commits
from workspace.results.commits import Identity


@dataclass(frozen=True, slots=True)
class Scene:
    """A person's repository, a runner repository of it, and a commit to bring back."""

    target: Path
    repo: RunnerRepository
    base: str
    result: str

    def push(self, *, old: str | None = "", branch: str = "main") -> merges.Pushed:
        expected = self.base if old == "" else old
        return merges.push_fast_forward(self.repo, self.result, target=self.target, branch=branch, old=expected)

    def git(self, *arguments: str) -> str:
        return gits.git(self.target, *arguments)

    def refused(self, code: str, *, old: str | None = "", branch: str = "main") -> Refusal:
        before = gits.snapshot(self.target)
        with pytest.raises(Refusal) as refused:
            self.push(old=old, branch=branch)
        assert refused.value.code == code
        assert gits.snapshot(self.target) == before
        return refused.value


def scene_at(tmp_path: Path, target: Path, work: dict[bytes, gits.Content | None]) -> Scene:
    repo, base = gits.runner(tmp_path, target)
    judgement = gits.judge(repo, base, work, tmp_path / "spool")
    made = commits.commit(
        repo, judgement, parent=base, message="x\n", author=Identity(), date=gits.WHEN, attempt=uuid4()
    )
    assert made
    return Scene(target, repo, base, made.id)


WORK: dict[bytes, gits.Content | None] = {b"a.txt": ("100644", b"two\n"), b"new/b": ("100755", b"b")}


@pytest.fixture
def checked_out(tmp_path: Path) -> Scene:
    return scene_at(tmp_path, gits.person(tmp_path / "target"), WORK)


@pytest.fixture
def bare(tmp_path: Path) -> Scene:
    gits.git(gits.person(tmp_path / "first"), "clone", "-q", "--bare", ".", str(tmp_path / "target.git"))
    return scene_at(tmp_path, tmp_path / "target.git", WORK)


@pytest.mark.case("M11")
def test_a_bare_targets_branch_moves_and_nothing_else(bare: Scene) -> None:
    bare.git("branch", "other")

    pushed = bare.push()

    assert pushed == merges.Pushed(tip=bare.result, work_tree=None)
    assert bare.git("for-each-ref", "--format=%(refname) %(objectname)").split("\n") == [
        f"refs/heads/main {bare.result}",
        f"refs/heads/other {bare.base}",
    ]
    assert bare.git("fsck", "--strict") == ""


def test_a_branch_that_does_not_exist_is_made(bare: Scene) -> None:
    pushed = bare.push(old=None, branch="feature/x")

    assert pushed.tip == bare.git("rev-parse", "refs/heads/feature/x")
    assert bare.git("rev-parse", "main") == bare.base


@pytest.mark.case("M10")
@pytest.mark.hazard("H117")
def test_a_clean_checked_out_branch_moves_together_with_its_work_tree(checked_out: Scene) -> None:
    config = (checked_out.target / ".git" / "config").read_bytes()

    pushed = checked_out.push()

    assert pushed.work_tree == checked_out.target
    assert checked_out.git("status", "--porcelain") == ""
    assert (checked_out.target / "a.txt").read_text() == "two\n"
    assert os.access(checked_out.target / "new" / "b", os.X_OK)
    assert (checked_out.target / ".git" / "config").read_bytes() == config


@pytest.mark.case("M10")
@pytest.mark.parametrize("kind", ["edited", "staged", "removed", "mode"])
def test_a_dirty_work_tree_is_not_touched(checked_out: Scene, kind: str) -> None:
    place = checked_out.target / "a.txt"
    match kind:
        case "removed":
            place.unlink()
        case "mode":
            place.chmod(0o755)
        case _:
            place.write_text("mine\n")
    if kind == "staged":
        checked_out.git("add", "a.txt")

    refusal = checked_out.refused("target_checked_out")

    assert '"a.txt"' in refusal.message
    assert refusal.hint == f"git -C {checked_out.target} status"


@pytest.mark.case("M10")
def test_a_work_tree_another_git_is_at_work_in_is_told_as_that(checked_out: Scene) -> None:
    (checked_out.target / ".git" / "index.lock").touch()

    refusal = checked_out.refused("target_checked_out")

    assert f"{checked_out.target}/.git/index.lock says that another git is at work there" in refusal.message


@pytest.mark.case("M10")
def test_an_untracked_file_that_is_not_in_the_way_is_no_obstacle(checked_out: Scene) -> None:
    (checked_out.target / "notes").write_text("mine")

    checked_out.push()

    assert (checked_out.target / "notes").read_text() == "mine"


@pytest.mark.case("M10")
@pytest.mark.parametrize("ignored", [True, False])
@pytest.mark.parametrize("where", ["new/b", "new", "new/b/c"])
def test_a_file_in_no_commit_is_never_overwritten(checked_out: Scene, where: str, *, ignored: bool) -> None:
    (checked_out.target / where).parent.mkdir(parents=True, exist_ok=True)
    (checked_out.target / where).write_text("mine")
    if ignored:
        (checked_out.target / ".git" / "info" / "exclude").write_text("new\n")

    refusal = checked_out.refused("target_checked_out")

    assert "overwritten" in refusal.message


@pytest.mark.case("M10")
def test_a_folder_that_becomes_a_file_and_back_is_the_commits_own_business(tmp_path: Path) -> None:
    target = gits.person(tmp_path / "target", {"f": "1", "d/x": "2"})
    work: dict[bytes, gits.Content | None] = {
        b"f": None,
        b"f/y": ("100644", b"3"),
        b"d/x": None,
        b"d": ("100644", b"4"),
    }
    scene = scene_at(tmp_path, target, work)

    scene.push()

    assert (target / "f" / "y").read_text() == "3"
    assert (target / "d").read_text() == "4"
    assert scene.git("status", "--porcelain") == ""


def test_another_branch_than_the_checked_out_one_leaves_the_work_tree_alone(checked_out: Scene) -> None:
    (checked_out.target / "a.txt").write_text("mine\n")
    checked_out.git("branch", "side")

    pushed = checked_out.push(branch="side")

    assert pushed.work_tree is None
    assert (checked_out.target / "a.txt").read_text() == "mine\n"
    assert checked_out.git("rev-parse", "side") == checked_out.result


@pytest.mark.case("M10")
def test_a_branch_checked_out_in_a_linked_worktree_is_found_and_follows(tmp_path: Path, checked_out: Scene) -> None:
    linked = tmp_path / "linked tree"
    checked_out.git("worktree", "add", "-q", "-b", "side", str(linked))

    pushed = checked_out.push(branch="side")

    assert pushed.work_tree == linked
    assert (linked / "a.txt").read_text() == "two\n"
    assert gits.git(linked, "status", "--porcelain") == ""


@pytest.mark.case("M10")
def test_a_dirty_linked_worktree_is_not_touched(tmp_path: Path, checked_out: Scene) -> None:
    checked_out.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked" / "a.txt").write_text("mine\n")

    checked_out.refused("target_checked_out", branch="side")

    assert (tmp_path / "linked" / "a.txt").read_text() == "mine\n"


def test_a_target_that_says_refuse_is_heard(checked_out: Scene) -> None:
    checked_out.git("config", "receive.denyCurrentBranch", "refuse")

    refusal = checked_out.refused("target_checked_out")

    assert "receive.denyCurrentBranch" in refusal.message


@pytest.mark.case("M13")
def test_a_target_that_already_holds_the_result_says_so(checked_out: Scene) -> None:
    checked_out.push()
    later = gits.commit(checked_out.target, {"c": "later"})

    refusal = checked_out.refused("already_merged", old=later)

    assert refusal.facts["tip"] == later


@pytest.mark.hazard("H116")
def test_a_target_that_moved_is_not_overwritten(bare: Scene, tmp_path: Path) -> None:
    moved = gits.commit(tmp_path / "first", {"c": "theirs"})
    gits.git(tmp_path / "first", "push", "-q", str(bare.target), "main")

    refusal = bare.refused("target_moved")

    assert refusal.facts == {"found": moved, "expected": bare.base}


@pytest.mark.case("M05")
def test_a_tip_that_the_result_does_not_descend_from_is_not_fast_forward(bare: Scene, tmp_path: Path) -> None:
    moved = gits.commit(tmp_path / "first", {"c": "theirs"})
    gits.git(tmp_path / "first", "push", "-q", str(bare.target), "main")

    bare.refused("not_fast_forward", old=moved)


def test_a_result_that_is_behind_its_target_is_already_there(bare: Scene) -> None:
    behind = Scene(bare.target, bare.repo, bare.base, bare.base)

    behind.refused("already_merged")


@pytest.mark.case("M09")
def test_of_two_pushes_at_once_one_moves_the_branch(tmp_path: Path, bare: Scene) -> None:
    other = gits.judge(bare.repo, bare.base, {b"other": ("100644", b"x")}, tmp_path / "spool2")
    made = commits.commit(
        bare.repo, other, parent=bare.base, message="y\n", author=Identity(), date=gits.WHEN, attempt=uuid4()
    )
    assert made
    rivals = [bare, Scene(bare.target, bare.repo, bare.base, made.id)]

    def push(rival: Scene) -> str:
        try:
            return rival.push().tip
        except Refusal as refusal:
            return refusal.code

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(push, rivals))

    assert len({"target_moved", "lock_timeout"} & set(outcomes)) == 1
    assert bare.git("rev-parse", "main") in outcomes


@pytest.mark.case("M06")
@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_a_hook_of_the_target_may_refuse_and_its_words_are_kept(bare: Scene, hook: str) -> None:
    place = bare.target / "hooks" / hook
    place.parent.mkdir(exist_ok=True)
    place.write_text("#!/bin/sh\necho no merges on a friday >&2\nexit 1\n")
    place.chmod(0o755)

    with pytest.raises(Refusal) as refused:
        bare.push()

    assert refused.value.code == "target_refused"
    assert str(refused.value.facts["said"]).startswith("no merges on a friday")
    assert bare.git("rev-parse", "main") == bare.base
    place.unlink()
    assert bare.push().tip == bare.result


def test_a_hook_of_the_target_sees_the_persons_environment(
    bare: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("TASKS_DATABASE_URL", "postgresql://secret")
    place = bare.target / "hooks" / "post-receive"
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\nenv >{tmp_path}/seen\n")
    place.chmod(0o755)

    bare.push()

    seen = (tmp_path / "seen").read_text().splitlines()
    assert f"HOME={tmp_path}" in seen
    assert not any(line.startswith(("TASKS_", "GIT_TRACE")) for line in seen)
    assert not (tmp_path / "trace").exists()


def test_a_filter_of_the_persons_own_config_runs_on_their_work_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text('[filter "up"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n')
    target = gits.person(tmp_path / "target", {".gitattributes": "*.up filter=up\n", "x.up": "abc\n"})
    gits.git(target, "checkout-index", "-f", "x.up")
    scene = scene_at(tmp_path, target, {b"x.up": ("100644", b"xyz\n")})
    env = {"HOME": str(tmp_path)}
    (target / "x.up").unlink()
    gits.git(target, "checkout", "-f", "main", env=env)
    assert (target / "x.up").read_text() == "ABC\n"

    scene.push()

    assert (target / "x.up").read_text() == "XYZ\n"
    assert gits.git(target, "status", "--porcelain", env=env) == ""


@pytest.mark.case("K01")
def test_looking_at_a_target_changes_nothing_not_even_its_index(checked_out: Scene) -> None:
    os.utime(checked_out.target / "a.txt", (1, 1))
    before = gits.snapshot(checked_out.target)

    state = merges.target_state(checked_out.target, "main")

    assert (state.tip, state.checked_out, state.obstacle) == (checked_out.base, checked_out.target, "")
    assert gits.snapshot(checked_out.target) == before


def test_an_empty_bare_target_has_no_tip(tmp_path: Path) -> None:
    gits.git(tmp_path, "init", "-q", "--bare", "-b", "main", "empty.git")

    state = merges.target_state(tmp_path / "empty.git", "main")

    assert (state.tip, state.checked_out, state.obstacle) == (None, None, "")


def test_an_unborn_checked_out_branch_can_be_pushed_to(tmp_path: Path, bare: Scene) -> None:
    gits.git(tmp_path, "init", "-q", "-b", "main", "unborn")

    merges.push_fast_forward(bare.repo, bare.result, target=tmp_path / "unborn", branch="main", old=None)

    assert (tmp_path / "unborn" / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("what", ["missing", "plain folder", "url", "broken"])
def test_a_target_that_cannot_be_read_is_said_to_be_so(tmp_path: Path, what: str) -> None:
    broken = gits.person(tmp_path / "broken")
    (broken / ".git" / "HEAD").write_text("nonsense\n")
    (tmp_path / "plain").mkdir()
    places: dict[str, str | Path] = {
        "missing": tmp_path / "nowhere",
        "plain folder": tmp_path / "plain",
        "url": "ssh://host.invalid/x",
        "broken": broken,
    }

    with pytest.raises(Refusal) as refused:
        merges.target_state(places[what], "main")

    assert refused.value.code == "target_unreadable"


@pytest.mark.hazard("H91")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_a_target_of_another_user_is_left_to_gits_own_rule(bare: Scene) -> None:
    for path in [bare.target, *bare.target.rglob("*")]:
        os.chown(path, 65534, 65534)

    refusal = bare.refused("target_unreadable")

    assert "dubious ownership" in refusal.message


@pytest.mark.case("K05")
def test_a_lock_on_the_targets_branch_is_left_alone_and_told(bare: Scene) -> None:
    lock = bare.target / "refs" / "heads" / "main.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()

    with pytest.raises(LostRace) as refused:
        bare.push()

    assert refused.value.code == "lock_timeout"
    assert lock.exists()
    lock.unlink()
    assert bare.push().tip == bare.result


@pytest.mark.hazard("H62")
def test_a_shallow_runner_repository_can_push_to_the_full_target(tmp_path: Path) -> None:
    full = gits.person(tmp_path / "full")
    gits.commit(full, {"a.txt": "1.5\n"})
    gits.git(tmp_path, "clone", "-q", "--depth", "1", f"file://{full}", "shallow")
    scene = scene_at(tmp_path, tmp_path / "shallow", WORK)

    pushed = Scene(full, scene.repo, scene.base, scene.result).push()

    assert pushed.tip == gits.git(full, "rev-parse", "main")
    assert not (full / ".git" / "shallow").exists()
    assert len(gits.git(full, "rev-list", "main").split()) == 3


def test_what_a_push_brought_is_in_one_pack(bare: Scene) -> None:
    bare.push()

    loose = [path for path in (bare.target / "objects").rglob("*") if path.is_file() and len(path.parent.name) == 2]
    assert gits.git(bare.target, "cat-file", "-t", bare.result) == "commit"
    assert not any(bare.result.endswith(path.name) for path in loose)


@pytest.mark.case("M07")
def test_a_push_that_took_too_long_but_arrived_is_a_push(bare: Scene, tmp_path: Path) -> None:
    place = bare.target / "hooks" / "post-receive"
    place.parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "fifo")
    place.write_text(f"#!/bin/sh\ncat {tmp_path}/fifo\n")
    place.chmod(0o755)

    pushed = merges.push_fast_forward(
        bare.repo, bare.result, target=bare.target, branch="main", old=bare.base, timeout=timedelta(seconds=3)
    )

    assert pushed.tip == bare.git("rev-parse", "main")


@pytest.mark.case("M08")
def test_a_push_after_which_the_target_cannot_be_read_is_unconfirmed(bare: Scene) -> None:
    place = bare.target / "hooks" / "update"
    place.parent.mkdir(exist_ok=True)
    place.write_text("#!/bin/sh\nmv HEAD head; exit 1\n")
    place.chmod(0o755)

    with pytest.raises(Refusal) as refused:
        bare.push()

    assert refused.value.code == "push_unconfirmed"


@pytest.mark.parametrize("strategy", ["merge", "squash", "octopus", ""])
def test_other_strategies_are_not_there_yet(strategy: str) -> None:
    with pytest.raises(Refusal) as refused:
        merges.check_strategy(strategy)

    assert refused.value.code == "strategy_unsupported"


def test_fast_forward_is_there() -> None:
    merges.check_strategy("ff")


def test_a_branch_name_that_is_more_than_a_name_reaches_no_command(bare: Scene) -> None:
    bare.refused("bad_branch", branch="main:refs/heads/other")
