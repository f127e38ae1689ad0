"""What the agent's parent withstands, and what it ends."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from workspace import proctree, supervise
from workspace.processes import Exit, Launch, Running, start

MINUTE = timedelta(minutes=1)
NOBODY = 65534
HERE = Path(supervise.__file__).parents[1]

WORKER = """
import json, signal, sys
from dataclasses import asdict
from pathlib import Path
from workspace.processes import Launch, start
folder, script, held = sys.argv[1:]
environment = {"PATH": "/usr/bin:/bin", "SAY": f"{folder}/fifo", "TASKS_ATTEMPT": "of-a-dead-worker"}
agent = start(Launch(argv=("sh", "-c", script), folder=Path(folder, "tree"), environment=environment,
                     output=Path(folder, "output")))
running = None if held else agent.let_go()
print(json.dumps(asdict(agent.handle)), flush=True)
signal.pause()
"""

ORDINARY = """
import sys
sys.path.insert(0, sys.argv[1])
from datetime import timedelta
from pathlib import Path
from workspace.processes import Launch, start
folder = Path(sys.argv[1])
(folder / "tree").mkdir()
running = start(Launch(argv=("sh", "-c", sys.argv[2]), folder=folder / "tree", environment={"PATH": "/usr/bin:/bin"},
                       output=folder / "output")).let_go()
print(running.wait(timedelta(minutes=1)).output.tail)
"""


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture
def launch(tmp_path: Path, fifo: Path) -> Launch:
    (tmp_path / "tree").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "TASKS_ATTEMPT": str(uuid4()),
        "SAY": str(fifo),
        "PYTHON": sys.executable,
    }
    return Launch(argv=("true",), folder=tmp_path / "tree", environment=environment, output=tmp_path / "output")


def agent(launch: Launch, script: str) -> Running:
    fields = {name: getattr(launch, name) for name in Launch.__slots__}
    return start(Launch(**{**fields, "argv": ("sh", "-c", script)})).let_go()


def ended(running: Running) -> Exit:
    found = running.wait(MINUTE)
    assert found is not None
    return found


def heard(fifo: Path) -> list[int]:
    return [int(word) for word in fifo.read_text().split()]


def test_it_needs_nothing_but_the_standard_library() -> None:
    script = f"import runpy, sys; sys.argv[1:] = ['x']; runpy.run_path({supervise.__file__!r}, run_name='tried')"

    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR1", "PIPE"])
def test_a_signal_from_the_agent_changes_nothing(launch: Launch, name: str) -> None:
    finished = ended(agent(launch, f"kill -{name} $PPID; exit 3"))

    assert (finished.code, finished.supervisor_lost, finished.proven_gone) == (3, False, True)


def test_an_agent_that_kills_its_own_group_does_not_reach_it(launch: Launch) -> None:
    finished = ended(agent(launch, "sleep 600 & kill -KILL 0"))

    assert (finished.signal, finished.supervisor_lost, finished.proven_gone) == (signal.SIGKILL, False, True)


def test_an_agent_that_stops_it_is_still_waited_for(launch: Launch) -> None:
    finished = ended(agent(launch, "kill -STOP $PPID; exit 4"))

    assert (finished.code, finished.supervisor_lost) == (4, False)


def test_an_agent_that_kills_it_gets_no_clean_answer_and_is_ended(launch: Launch, fifo: Path) -> None:
    script = """setsid sleep 600 & echo $! $$ > "$SAY"; read line < "$SAY"; kill -KILL $PPID; sleep 600"""
    running = agent(launch, script)
    child, itself = heard(fifo)
    fifo.write_text("now\n")

    finished = ended(running)

    assert finished.supervisor_lost
    assert not finished.proven_gone
    assert (finished.code, finished.signal) == (None, None)
    assert child in {left.pid for left in finished.leftovers}
    assert [pid for pid in (child, itself) if is_alive(pid)] == []
    assert finished.remaining == ()


def test_a_killed_supervisor_is_noticed_while_stopping(launch: Launch, fifo: Path) -> None:
    running = agent(launch, """echo $$ > "$SAY"; sleep 600""")
    (itself,) = heard(fifo)
    os.kill(running.handle.supervisor, signal.SIGKILL)

    finished = running.stop()

    assert (finished.supervisor_lost, finished.proven_gone) == (True, False)
    assert not is_alive(itself)


def test_the_agent_cannot_read_or_write_what_its_parent_holds(open_folder: Path) -> None:
    script = (
        "ls /proc/$PPID/fd; cat /proc/$PPID/environ; for n in 3 4 5 6 7; do (echo > /proc/$PPID/fd/$n); done; id -u"
    )

    said = as_ordinary_user(open_folder, script)

    assert said.splitlines()[-1] != "0"
    assert said.lower().count("permission denied") == 7


def test_a_process_that_forks_when_asked_to_end_is_ended(launch: Launch, fifo: Path) -> None:
    finished = ended(agent(launch, program(FORKS_ON_TERM)))

    assert (finished.code, finished.proven_gone) == (0, True)
    assert finished.leftovers != ()
    assert living_with(launch) == []


def test_processes_that_replace_each_other_are_ended(launch: Launch, fifo: Path) -> None:
    finished = ended(agent(launch, program(HYDRA)))

    assert (finished.proven_gone, finished.remaining) == (True, ())
    assert living_with(launch) == []


def test_a_process_that_is_never_the_same_for_long_is_ended(launch: Launch) -> None:
    finished = ended(agent(launch, program(COMET)))

    assert (finished.proven_gone, finished.remaining) == (True, ())
    assert finished.leftovers != ()
    assert living_with(launch) == []


def test_the_end_of_the_worker_is_the_end_of_the_agent(tmp_path: Path, fifo: Path) -> None:
    script = """setsid sh -c 'trap "" TERM; while :; do sleep 600; done' & echo $$ $! > "$SAY"; sleep 600"""
    worker, handle = dead_worker_to_be(tmp_path, script)
    agents = heard(fifo)

    with watching([*agents, handle["supervisor"]]) as gone:
        kill(worker)

        assert gone()


def test_the_end_of_the_worker_is_the_end_of_a_held_agent(tmp_path: Path, fifo: Path) -> None:
    worker, handle = dead_worker_to_be(tmp_path, "touch ran", held=True)

    with watching([handle["pid"], handle["supervisor"]]) as gone:
        kill(worker)

        assert gone()
    assert list((tmp_path / "tree").iterdir()) == []


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


def program(source: str) -> str:
    return f"exec \"$PYTHON\" -I -S -c '{source}'"


def is_alive(pid: int) -> bool:
    process = proctree.look(pid)
    return process is not None and not process.gone


def living_with(launch: Launch) -> list[int]:
    entry = f"TASKS_ATTEMPT={launch.environment['TASKS_ATTEMPT']}".encode()
    return [
        process.pid for process in proctree.scan().values() if not process.gone and proctree.carries(process.pid, entry)
    ]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike a test's own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def as_ordinary_user(folder: Path, script: str) -> str:
    """Run the agent by a worker that is not root; root may do anything to anybody."""
    interpreter, user = sys.executable, {}
    if os.geteuid() == 0:
        interpreter = shutil.which("python3", path="/usr/bin:/usr/local/bin") or pytest.skip("no other interpreter")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if "ok" not in said_by(interpreter, "-c", "import sys; print('ok' * (sys.version_info >= (3, 11)))"):
            pytest.skip("no interpreter that every user may run")
    for package in ("statemachine", "workspace"):
        shutil.copytree(HERE / package, folder / package, copy_function=shutil.copyfile)
    return said_by(interpreter, "-c", ORDINARY, str(folder), script, **user)


def said_by(*command: str, **options: object) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/", **options).stdout


def dead_worker_to_be(folder: Path, script: str, *, held: bool = False) -> tuple[subprocess.Popen[str], dict[str, int]]:
    (folder / "tree").mkdir()
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
