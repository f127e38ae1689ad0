"""What recovery may end, and what it must leave alone."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents import AT_ONCE, Stage, ended, is_alive, stage
from workspace.agents import proctree
from workspace.agents.processes import Handle, Running, alive, end_survivors, survivors


@pytest.fixture
def agents(tmp_path: Path) -> Stage:
    return stage(tmp_path)


@pytest.fixture
def orphans(agents: Stage) -> Iterator["Orphans"]:
    found = Orphans(agents)
    yield found
    found.clear()


@pytest.fixture
def stranger() -> Iterator[proctree.Process]:
    """A process of the same user that is none of ours."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        process = proctree.look(other.pid)
        assert process is not None
        yield process
        other.kill()


NO_LONGER_MARKED = """env -i SAY="$SAY" sh -c 'echo $$ > "$SAY"; exec sleep 600' & wait"""


class Orphans:
    """An agent whose supervisor was killed, so that only its handle is left to find it by."""

    def __init__(self, agents: Stage) -> None:
        self._agents = agents
        self._running: list[Running] = []

    def leave(self, script: str, *, agent_too: bool = False) -> tuple[Handle, list[int]]:
        """Run the script until it has said its process numbers, and take its supervisor away, and perhaps itself."""
        running = self._agents.shell(script).let_go()
        self._running.append(running)
        said = self._agents.heard()
        os.kill(running.handle.supervisor, signal.SIGKILL)
        os.waitid(os.P_PID, running.handle.supervisor, os.WEXITED | os.WNOWAIT)
        agent = proctree.look(running.handle.pid)
        if agent_too and agent and proctree.send(agent, signal.SIGKILL):
            assert proctree.await_gone([agent], 60)
        return running.handle, said

    def clear(self) -> None:
        for running in self._running:
            running.stop(AT_ONCE)


@pytest.mark.case("R14")
def test_what_is_proven_ours_is_found_and_ended(orphans: Orphans) -> None:
    script = """setsid sh -c 'trap "" TERM; echo $$ > "$SAY"; while :; do sleep 600; done' & wait"""
    handle, (child,) = orphans.leave(script)

    found = {one.process.pid: one.proven for one in survivors(handle)}
    done = end_survivors(handle, grace=AT_ONCE)

    assert found[child]
    assert found[handle.pid]
    assert done
    assert not alive(handle)
    assert not is_alive(child)
    assert survivors(handle) == ()


def test_an_orphan_is_known_by_the_attempt_it_was_started_with(orphans: Orphans) -> None:
    handle, (child,) = orphans.leave("""setsid sleep 600 & echo $! > "$SAY"; wait""", agent_too=True)

    assert [(one.process.pid, one.proven) for one in survivors(handle)] == [(child, True)]
    assert end_survivors(handle)
    assert not is_alive(child)


def test_the_attempt_is_compared_whole(orphans: Orphans) -> None:
    handle, (child,) = orphans.leave("""setsid sleep 600 & echo $! > "$SAY"; wait""", agent_too=True)
    another = replace(handle, marker=handle.marker[:-1])

    assert survivors(another) == ()
    assert end_survivors(another)
    assert is_alive(child)


@pytest.mark.case("R14")
def test_what_only_looks_like_ours_is_reported_and_left_alone(orphans: Orphans) -> None:
    handle, (child,) = orphans.leave(NO_LONGER_MARKED, agent_too=True)

    found = survivors(handle)
    done = end_survivors(handle, grace=AT_ONCE)

    assert [(one.process.pid, one.proven) for one in found] == [(child, False)]
    assert "sleep 600" in found[0].command
    assert not done
    assert is_alive(child)
    os.kill(child, signal.SIGKILL)


def test_the_session_proves_while_the_agent_leads_it(orphans: Orphans) -> None:
    handle, (child,) = orphans.leave(NO_LONGER_MARKED)

    found = {one.process.pid: one.proven for one in survivors(handle)}

    assert found[child]
    assert end_survivors(handle, grace=AT_ONCE)
    assert not is_alive(child)


def test_a_supervisor_that_was_stopped_is_ended_too(agents: Stage) -> None:
    running = agents.shell('echo $$ > "$SAY"; sleep 600').let_go()
    agents.heard()
    os.kill(running.handle.supervisor, signal.SIGSTOP)

    done = end_survivors(running.handle, grace=AT_ONCE)

    assert done
    assert not proctree.same(running.handle.supervisor, running.handle.supervisor_started)
    assert ended(running).output.size == 0
    assert not alive(running.handle)


def test_nothing_of_another_boot_is_alive(orphans: Orphans) -> None:
    handle, (child,) = orphans.leave("""setsid sleep 600 & echo $! > "$SAY"; wait""", agent_too=True)
    earlier = replace(handle, boot="an earlier one")

    assert not alive(earlier)
    assert survivors(earlier) == ()
    assert end_survivors(earlier)
    assert is_alive(child)


def test_whoever_asks_is_no_survivor(stranger: proctree.Process) -> None:
    parent = proctree.look(os.getppid())
    assert parent is not None
    handle = Handle(pid=parent.pid, started=parent.started, group=parent.group, boot=proctree.boot())

    assert {os.getpid(), os.getppid()}.isdisjoint({one.process.pid for one in survivors(handle)})


def test_a_process_is_looked_at_as_the_kernel_sees_it(stranger: proctree.Process) -> None:
    assert (stranger.parent, stranger.group, stranger.session) == (os.getpid(), stranger.pid, stranger.pid)
    assert proctree.command_line(stranger.pid) == "sleep 600"
    assert proctree.scan()[stranger.pid].started == stranger.started
    assert stranger.pid in proctree.children(os.getpid())


def test_a_name_with_brackets_and_blanks_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / ") S 1 1 (x"
    program.write_text("#!/bin/sh\nread line\n")
    program.chmod(0o755)

    with subprocess.Popen([program], stdin=subprocess.PIPE) as odd:
        found = proctree.look(odd.pid)

    assert found is not None
    assert (found.pid, found.parent) == (odd.pid, os.getpid())


def test_psutil_sees_the_same(stranger: proctree.Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proctree, "LINUX", False)

    found = proctree.look(stranger.pid)

    assert found is not None
    assert found[:4] == stranger[:4]
    assert stranger.pid in proctree.scan()
    assert proctree.look(2**22 - 1) is None


def test_an_unreaped_process_counts_as_gone() -> None:
    dead = subprocess.Popen(["true"])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)

    found = proctree.look(dead.pid)

    assert found is not None
    assert found.gone
    assert not proctree.still(found)
    dead.wait()


def test_a_child_older_than_its_parent_is_nobodys() -> None:
    parent = proctree.Process(pid=10, parent=1, group=10, session=10, started=500, state="S")
    born = proctree.Process(pid=11, parent=10, group=10, session=10, started=500, state="S")
    older = proctree.Process(pid=12, parent=10, group=12, session=12, started=499, state="S")

    found = proctree.descendants({10}, {process.pid: process for process in (parent, born, older)})

    assert found == [born]
