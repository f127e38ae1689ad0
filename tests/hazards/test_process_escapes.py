"""Agents whose children outlive them: they would write into the tree while it is being judged."""

import os
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from workspace import proctree
from workspace.processes import Exit, Launch, start

MINUTE = timedelta(minutes=1)

ESCAPES = {
    "in the background": """{child} & echo $! > "$SAY";""",
    "in a session of its own": """setsid {child} & echo $! > "$SAY";""",
    "of a double fork": """(setsid sh -c 'echo $$ > "$SAY"; exec {child}' &);""",
    "with no environment": """env -i setsid {child} & echo $! > "$SAY";""",
    "stopped": """{child} & echo $! > "$SAY"; kill -STOP $!;""",
}


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def run(folder: Path, fifo: Path, script: str) -> tuple[Exit, list[int]]:
    """Run an agent whose script says the numbers of the processes it leaves, then ends by `end`."""
    (folder / "tree").mkdir()
    environment = {"PATH": os.environ["PATH"], "TASKS_ATTEMPT": str(uuid4()), "SAY": str(fifo)}
    launch = Launch(
        argv=("sh", "-c", script), folder=folder / "tree", environment=environment, output=folder / "output"
    )
    running = start(launch).let_go()
    said = [int(word) for word in fifo.read_text().split()]
    finished = running.wait(MINUTE)
    assert finished is not None
    return finished, said


@pytest.mark.case("S15")
@pytest.mark.hazard("H98")
@pytest.mark.parametrize("way", ESCAPES)
def test_a_child_that_outlives_the_agent_is_reported_and_gone(tmp_path: Path, fifo: Path, way: str) -> None:
    script = ESCAPES[way].format(child="sleep 600") + "exit 3"

    finished, (child,) = run(tmp_path, fifo, script)

    assert finished.code == 3
    assert [left.pid for left in finished.leftovers] == [child]
    assert "sleep 600" in finished.leftovers[0].command
    assert proctree.look(child) is None
    assert finished.proven_gone


@pytest.mark.case("S15")
@pytest.mark.hazard("H98")
def test_a_writer_that_ignores_the_asking_has_stopped_writing(tmp_path: Path, fifo: Path) -> None:
    child = """setsid sh -c "trap '' TERM HUP INT; echo \\$\\$ > \\"$SAY\\"; while :; do date >> late; done" &"""

    finished, (writer,) = run(tmp_path, fifo, f"{child} exit 0")

    late = tmp_path / "tree" / "late"
    before = late.read_bytes()
    assert writer in {left.pid for left in finished.leftovers}
    assert proctree.look(writer) is None
    assert finished.proven_gone
    assert late.read_bytes() == before


@pytest.mark.case("S15")
def test_a_pipeline_that_ends_with_the_agent_leaves_nothing(tmp_path: Path, fifo: Path) -> None:
    finished, _ = run(tmp_path, fifo, """mkfifo p; cat < p & echo $! > "$SAY"; echo through > p; exit 0""")

    assert (finished.leftovers, finished.output.tail) == ((), "through\n")


@pytest.mark.hazard("H98")
def test_what_a_leftover_calls_itself_is_quoted(tmp_path: Path, fifo: Path) -> None:
    script = """sh -c 'sleep 600; true' 'evil\n\033[2J\n' & echo $! > "$SAY"; exit 0"""

    finished, (child,) = run(tmp_path, fifo, script)

    commands = {left.pid: left.command for left in finished.leftovers}
    assert r"evil\n\u001b[2J" in commands[child]
    assert all(command.isprintable() for command in commands.values())


@pytest.mark.case("S16")
@pytest.mark.hazard("H99")
def test_a_child_that_holds_the_output_does_not_hold_the_end(tmp_path: Path, fifo: Path) -> None:
    script = """setsid sleep 600 & echo $! > "$SAY"; printf 'first\\nlast line'; exit 7"""

    finished, (child,) = run(tmp_path, fifo, script)

    assert (finished.code, finished.output.tail) == (7, "first\nlast line")
    assert finished.output.path.read_text() == "first\nlast line"
    assert proctree.look(child) is None
