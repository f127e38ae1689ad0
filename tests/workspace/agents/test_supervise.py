"""What the agent's parent withstands, and what it ends."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agents import Stage, ended, is_alive, stage
from tests.trees import without_privileges
from workspace.agents import proctree, supervise

WORKER = """
import json, signal, sys
from dataclasses import asdict
from pathlib import Path
from workspace.agents.processes import Launch, start
folder, script, held = sys.argv[1:]
environment = {"PATH": "/usr/bin:/bin", "SAY": f"{folder}/fifo", "TASKS_ATTEMPT": "of-a-dead-worker"}
agent = start(Launch(argv=("sh", "-c", script), folder=Path(folder, "tree"), environment=environment,
                     output=Path(folder, "output")))
running = None if held else agent.let_go()
print(json.dumps(asdict(agent.handle)), flush=True)
signal.pause()
"""

ORDINARY = """
import os
from pathlib import Path
from tests.agents import ended, stage

agents = stage(Path(os.environ["FOLDER"]))
print(ended(agents.shell(os.environ["SCRIPT"]).let_go()).output.tail)
"""


@pytest.fixture
def agents(tmp_path: Path) -> Stage:
    return stage(tmp_path)


def test_it_needs_nothing_but_the_standard_library() -> None:
    script = f"import runpy, sys; sys.argv[1:] = ['x']; runpy.run_path({supervise.__file__!r}, run_name='tried')"

    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR2", "ALRM", "PIPE", "TSTP", "SEGV", "XCPU", "CHLD"])
def test_a_signal_from_the_agent_changes_nothing(agents: Stage, name: str) -> None:
    finished = ended(agents.shell(f"kill -{name} $PPID; exit 3").let_go())

    assert (finished.code, finished.supervisor_lost, finished.proven_gone) == (3, False, True)


def test_an_agent_that_kills_its_own_group_does_not_reach_it(agents: Stage) -> None:
    finished = ended(agents.shell("sleep 600 & kill -KILL 0").let_go())

    assert (finished.signal, finished.supervisor_lost, finished.proven_gone) == (signal.SIGKILL, False, True)


def test_an_agent_that_stops_it_is_still_waited_for(agents: Stage) -> None:
    finished = ended(agents.shell("kill -STOP $PPID; exit 4").let_go())

    assert (finished.code, finished.supervisor_lost) == (4, False)


def test_an_agent_that_kills_it_gets_no_clean_answer_and_is_ended(agents: Stage) -> None:
    script = """setsid sleep 600 & echo $! $$ > "$SAY"; read line < "$SAY"; kill -KILL $PPID; sleep 600"""
    running = agents.shell(script).let_go()
    child, itself = agents.heard()
    agents.fifo.write_text("now\n")

    finished = ended(running)

    assert finished.supervisor_lost
    assert not finished.proven_gone
    assert (finished.code, finished.signal) == (None, None)
    assert child in {left.pid for left in finished.leftovers}
    assert [pid for pid in (child, itself) if is_alive(pid)] == []
    assert finished.remaining == ()


def test_a_killed_supervisor_is_noticed_while_stopping(agents: Stage) -> None:
    running = agents.shell("""echo $$ > "$SAY"; exec sleep 600""").let_go()
    (itself,) = agents.heard()
    os.kill(running.handle.supervisor, signal.SIGKILL)

    finished = running.stop()

    assert (finished.supervisor_lost, finished.proven_gone) == (True, False)
    assert [left.pid for left in finished.leftovers] == [running.handle.supervisor]
    assert not is_alive(itself)


def test_the_agent_cannot_read_or_write_what_its_parent_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPT", "for it in /proc/$PPID/environ /proc/$PPID/fd/*; do (: < $it) && echo opened; done")

    said = without_privileges(ORDINARY, tmp_path)

    assert said.count("Permission denied") >= 2
    assert "opened" not in said


def test_a_process_that_forks_when_asked_to_end_is_ended(agents: Stage) -> None:
    finished = ended(agents.python(FORKS_ON_TERM).let_go())

    assert (finished.code, finished.proven_gone) == (0, True)
    assert finished.leftovers != ()
    assert agents.living() == []


def test_processes_that_replace_each_other_are_ended(agents: Stage) -> None:
    finished = ended(agents.python(HYDRA).let_go())

    assert (finished.proven_gone, finished.remaining) == (True, ())
    assert agents.living() == []


def test_a_process_that_is_never_the_same_for_long_is_ended(agents: Stage) -> None:
    finished = ended(agents.python(COMET).let_go())

    assert (finished.proven_gone, finished.remaining) == (True, ())
    assert finished.leftovers != ()
    assert agents.living() == []


def test_the_end_of_the_worker_is_the_end_of_the_agent(agents: Stage) -> None:
    script = """setsid sh -c 'trap "" TERM; while :; do sleep 600; done' & echo $$ $! > "$SAY"; sleep 600"""
    worker, handle = dead_worker_to_be(agents.folder, script)
    told = agents.heard()

    with watching([*told, handle["supervisor"]]) as gone:
        kill(worker)

        assert gone()


def test_the_end_of_the_worker_is_the_end_of_a_held_agent(agents: Stage) -> None:
    worker, handle = dead_worker_to_be(agents.folder, "touch ran", held=True)

    with watching([handle["pid"], handle["supervisor"]]) as gone:
        kill(worker)

        assert gone()
    assert list(agents.tree.iterdir()) == []


def test_where_orphans_cannot_be_adopted_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proctree, "LINUX", False)

    assert supervise._contain() is False


FORKS_ON_TERM = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: os.fork())
if os.fork():
    os._exit(0)
os.setsid()
while True:
    signal.pause()
"""

HYDRA = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    os._exit(0)
def grow(depth):
    while True:
        if os.fork() == 0:
            os.setsid()
            if depth == 0:
                while True:
                    signal.pause()
            grow(depth - 1)
        os.wait()  # one head is off: two grow again
grow(8)
"""

COMET = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    os._exit(0)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


def dead_worker_to_be(folder: Path, script: str, *, held: bool = False) -> tuple[subprocess.Popen[str], dict[str, int]]:
    command = [sys.executable, "-c", WORKER, str(folder), script, "held" if held else ""]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    return worker, json.loads(worker.stdout.readline())


def kill(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.communicate()


@contextmanager
def watching(pids: list[int]) -> Iterator[Callable[[], bool]]:
    """Hold on to processes while they live; the answer says whether all of them have ended."""
    descriptors = [os.pidfd_open(pid) for pid in pids]

    def gone() -> bool:
        return all(select.select([descriptor], [], [], 60)[0] for descriptor in descriptors)

    yield gone
    for descriptor in descriptors:
        os.close(descriptor)
