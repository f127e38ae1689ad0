"""The sandbox: an agent that is nobody, in a tree that is only files, with a git that is thrown away."""

import os
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from tests.agents import AT_ONCE, MINUTE, is_alive
from tests.sandboxes import Box, box, needs_sandbox
from workspace.agents import proctree
from workspace.agents.confinement import USER, Confinement, History, Terms
from workspace.executors import bubblewrap, find, identities
from workspace.executors.identities import AgentUser, agent_user
from workspace.executors.walls import home

ROOT = os.geteuid() == 0
ONLY_ROOT = pytest.mark.skipif(not ROOT, reason="only root can make somebody else of itself")
ONLY_OTHERS = pytest.mark.skipif(ROOT, reason="root gets another rule")


@pytest.fixture
def cell(tmp_path: Path) -> Box:
    return box(tmp_path)


def inspected(cell: Box) -> dict[str, object]:
    return cell.executor.inspect(cell.place, spool=cell.room / f"spool-{uuid4().hex}").manifest


def test_it_is_found_and_has_nothing_to_warn_of() -> None:
    needs_sandbox()
    found = find("sandbox")

    found.probe()
    assert (found.name, found.unprotected, found.commits_watched, found.ends_for_certain) == (
        "sandbox",
        "",
        False,
        True,
    )
    assert "limits kept" in found.about


# ---------------------------------------------------------------- who the agent is


@pytest.mark.case("W19")
def test_an_agent_is_never_root_and_has_no_rights(cell: Box) -> None:
    uid, gid, groups, *rights = cell.shell(
        "id -u; id -g; id -G; grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status"
    ).splitlines()

    mine = USER if ROOT else os.geteuid()
    assert int(uid) == mine != 0
    assert groups.split() == [gid] or not ROOT
    assert [line.split()[1].strip("0") for line in rights] == ["", "", "", "", "", "1"]


@pytest.mark.case("W19")
@ONLY_ROOT
@pytest.mark.parametrize("user", [0])
def test_root_is_refused_as_the_agents_user(user: int) -> None:
    with pytest.raises(Refusal) as refused:
        find("sandbox", Confinement(user=user)).probe()

    assert refused.value.code == "executor_unavailable"
    assert "sandbox.user" in refused.value.hint


@pytest.mark.case("W19")
@ONLY_ROOT
def test_a_number_that_has_a_name_here_is_refused_unless_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "USER", 65534)

    with pytest.raises(Refusal, match="nobody"):
        agent_user(Confinement())

    assert agent_user(Confinement(user=65534)) == AgentUser(65534, 65534, other=True)


@pytest.mark.case("W19")
@ONLY_OTHERS
def test_a_worker_that_is_not_root_cannot_run_agents_as_somebody_else() -> None:
    with pytest.raises(Refusal) as refused:
        find("sandbox", Confinement(user=os.geteuid() + 1)).probe()

    assert refused.value.code == "executor_unavailable"
    assert agent_user(Confinement(user=os.geteuid())).uid == os.geteuid()


@pytest.mark.case("W19")
@ONLY_ROOT
def test_what_the_agent_locks_away_root_reads_and_removes(cell: Box) -> None:
    cell.shell("echo two > a.txt; mkdir deep; echo x > deep/file; chmod 000 a.txt deep")

    changes = inspected(cell)["changes"]
    released = cell.executor.release(cell.place)

    assert isinstance(changes, list)
    assert [(each["path"], each["kind"]) for each in changes] == [("a.txt", "modify"), ("deep/file", "add")]
    assert released.gone
    assert not cell.place.folder.exists()


# ---------------------------------------------------------------- where it cannot work


@pytest.mark.case("W20")
@pytest.mark.parametrize(
    ("program", "says"),
    [
        (None, "there is no bwrap"),
        ("echo bubblewrap 0.7.9", "too old"),
        ("echo '???'", "too old"),
        (
            'case "$1" in --version) echo bubblewrap 0.8.0 ;; *) echo no user namespace >&2; exit 1 ;; esac',
            "no user names",
        ),
    ],
)
def test_a_host_it_cannot_work_on_is_refused_before_anything_is_made(
    program: str | None, says: str, cell: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Path(f"/var/tmp/weighlock-programs-{uuid4().hex}")
    programs.mkdir(mode=0o755)
    (programs / "setpriv").symlink_to("/usr/bin/setpriv")
    if program is not None:
        (programs / "bwrap").write_text(f"#!/bin/sh\n{program}\n")
        (programs / "bwrap").chmod(0o755)
    monkeypatch.setattr(bubblewrap, "_PLACES", str(programs))
    bubblewrap.probe.cache_clear()
    fresh = replace(cell.place, allocation=uuid4(), path=None)

    with pytest.raises(Refusal) as refused:
        cell.executor.materialise(fresh)

    for each in programs.iterdir():
        each.unlink()
    programs.rmdir()
    assert refused.value.code == "executor_unavailable"
    assert says in refused.value.message
    assert refused.value.hint
    assert not fresh.folder.exists()


# ---------------------------------------------------------------- the tree and its git


@pytest.mark.case("W22")
def test_the_bytes_are_those_of_the_base_whatever_the_attributes_say(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {".gitattributes": "* text eol=crlf ident\n", "a.txt": b"$Id$\nb\n"}
    cell = box(tmp_path, files=files)

    said = cell.run("cat", "a.txt").output.path.read_bytes()

    assert said == b"$Id$\nb\n"
    assert cell.shell("git status --porcelain") == ""


@pytest.mark.case("W17")
def test_its_git_works_and_nothing_of_it_reaches_us(cell: Box) -> None:
    said = cell.shell(
        "git status --porcelain; git log --format=%s; echo two > a.txt; git stash -q; git stash pop -q;"
        " git checkout -q -b mine; git commit -qam mine; echo '#!/bin/sh' > .git/hooks.sh; git log --format=%s -1"
    )

    manifest = inspected(cell)
    assert said.split() == ["base", "mine"]
    assert list((cell.place.folder / ".git").iterdir()) == []
    assert (manifest["metadata_changed"], manifest["agent_commits"]) == (False, False)


@pytest.mark.case("W17")
def test_git_finds_a_fresh_tree_clean_without_reading_it(cell: Box) -> None:
    before, after = cell.shell("stat -c %y .git/index; git status --porcelain; stat -c %y .git/index").splitlines()

    assert before == after


@pytest.mark.parametrize(("history", "commits"), [(History.full, "2"), (History.shallow, "1")])
def test_the_past_it_sees_is_what_the_policy_says(tmp_path: Path, history: History, commits: str) -> None:
    cell = box(tmp_path, commits=2)

    said = cell.shell("git rev-list --count HEAD; git status --porcelain", Terms(history=history))

    assert said.split() == [commits]


def test_without_any_past_everything_is_new_to_its_git(cell: Box) -> None:
    said = cell.shell("git status --porcelain; git add -A; git commit -qm first", Terms(history=History.none))

    assert said.split() == ["??", "a.txt", "??", "src/"]


def test_a_shared_store_is_read_and_not_written(cell: Box) -> None:
    terms = Terms(share_objects=True)
    if ROOT:
        with pytest.raises(Refusal, match="root"):
            cell.run("true", terms=terms)
        return

    said = cell.shell("ls .git/objects/pack; git log --format=%s; echo two > a.txt; git commit -qam mine", terms)

    assert said.split() == ["base"]


@pytest.mark.parametrize(
    "script", ["touch .git/x", "rmdir .git && mkdir .git && sleep 0", "rm -r .git", "mv .git moved"]
)
def test_the_empty_git_of_the_host_is_out_of_reach_and_every_change_there_is_found(cell: Box, script: str) -> None:
    cell.run("sh", "-c", script)
    untouched = inspected(cell)["metadata_changed"]
    (cell.place.folder / ".git" / "config").touch()
    filled = inspected(cell)
    (cell.place.folder / ".git" / "config").unlink()
    (cell.place.folder / ".git").rename(cell.place.root.path / "old")
    (cell.place.folder / ".git").mkdir()
    replaced = inspected(cell)

    assert untouched is False
    assert (filled["metadata_changed"], filled["metadata"]) == (True, ["added config"])
    assert (replaced["metadata_changed"], replaced["metadata"]) == (True, ["changed .git: it is another folder"])


def test_a_workspace_whose_git_is_not_empty_is_not_attached(cell: Box) -> None:
    (cell.place.folder / ".git" / "config").touch()

    attachment = cell.executor.attach(cell.place, spool=cell.room / "spool")

    assert attachment.admission.code == "metadata_changed"


# ---------------------------------------------------------------- what it sees


def test_it_sees_the_same_path_an_empty_home_and_its_prompt(cell: Box) -> None:
    prompt = cell.room / "prompt.md"

    said = cell.shell(f"pwd; ls -A $HOME /tmp; echo $TMPDIR; cat {prompt}; ls -A {cell.room}; touch $HOME/x /tmp/x")

    *_, home_listing = said.splitlines()
    assert said.splitlines()[0] == str(cell.place.folder)
    assert "do it" in said
    assert home_listing == "prompt.md"


@pytest.mark.parametrize("wanted", ["/", "/usr/games", "/proc/self", "/dev/null", "/etc", "not-absolute"])
def test_a_home_where_none_can_be_lies_elsewhere(wanted: str) -> None:
    assert home(wanted) == Path("/tmp/home")


def test_a_named_folder_is_read_and_not_written(cell: Box, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o777)
    (tools / "word").write_text("said\n")

    said = cell.with_(readable=(tools,)).shell(f"cat {tools}/word; touch {tools}/x 2>/dev/null || echo no")

    assert said.split() == ["said", "no"]


@pytest.mark.parametrize("place", ["root", "root/workspaces", ".", "home"])
def test_a_folder_that_leads_to_the_root_or_home_is_refused(
    cell: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    with pytest.raises(Refusal) as refused:
        cell.with_(readable=(tmp_path / place,)).run("true")

    assert refused.value.code == "readable_forbidden"


# ---------------------------------------------------------------- how it ends


def test_an_agent_is_asked_to_end_before_its_walls_are(cell: Box) -> None:
    bell = cell.bell()
    running = cell.start(
        "sh", "-c", "trap 'echo bye > said; exit 3' TERM; echo > bell; while :; do sleep 1 & wait; done"
    )
    bell.read_text()

    ended = running.stop()

    assert (ended.code, (cell.place.folder / "said").read_text()) == (3, "bye\n")
    assert ended.proven_gone
    assert not is_alive(running.handle.pid)


def test_an_agent_that_does_not_listen_is_ended_with_everything_it_started(cell: Box) -> None:
    bell = cell.bell()
    running = cell.start(
        "sh", "-c", "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 60; done' & echo > bell; sleep 600"
    )
    bell.read_text()
    started = beneath(running.handle.pid)

    ended = running.stop(AT_ONCE)

    assert len(started) >= 4
    assert ended.proven_gone
    assert ended.code is None or ended.code >= 128
    assert not any(map(is_alive, started))


def test_a_walls_own_death_takes_everything_with_it(cell: Box) -> None:
    bell = cell.bell()
    running = cell.start("sh", "-c", "setsid sleep 600 & echo > bell; sleep 600")
    bell.read_text()
    started = beneath(running.handle.pid)

    os.kill(running.handle.supervisor, signal.SIGKILL)
    ended = running.wait(MINUTE)

    assert ended is not None
    assert ended.supervisor_lost
    assert proctree.await_gone([found for pid in started if (found := proctree.look(pid))], 10)


@pytest.mark.case("S15")
def test_what_outlived_the_agent_is_told_and_gone(cell: Box) -> None:
    ended = cell.run("sh", "-c", "setsid sleep 600 & exit 0")

    assert ended.code == 0
    assert ["sleep 600" in each.command for each in ended.leftovers] == [True]
    assert ended.proven_gone


def test_an_agent_that_ends_its_own_parent_ends_itself(cell: Box) -> None:
    ended = cell.run("sh", "-c", "kill -KILL $PPID; exec sleep 600")

    assert ended.code == 128 + signal.SIGKILL
    assert ended.proven_gone


def test_a_program_that_cannot_be_executed_is_told_from_one_that_fails(cell: Box) -> None:
    missing = cell.run("/no/such/agent")
    failing = cell.run("sh", "-c", "exit 127")

    assert (missing.code, "No such file" in (missing.launch_error or "")) == (None, True)
    assert (failing.code, failing.launch_error) == (127, None)


def test_a_sandbox_that_could_not_be_made_is_no_agent_that_failed(cell: Box) -> None:
    ended = cell.with_(readable=(Path("/no/such/folder"),)).run("true")

    assert "sandbox could not be made" in (ended.launch_error or "")
    assert "/no/such/folder" in ended.output.tail


def test_a_time_limit_holds_behind_walls_too(cell: Box) -> None:
    running = cell.start("sleep", "600")
    running._job = replace(running._job, time_limit=timedelta(0))

    ended = running.wait(MINUTE)

    assert ended is not None
    assert ended.timed_out
    assert ended.proven_gone


def beneath(pid: int) -> list[int]:
    return [each.pid for each in proctree.descendants({pid}, proctree.scan())]
