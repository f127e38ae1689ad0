"""Agents whose children outlive them: they would write into the tree while it is being judged."""

from pathlib import Path

import pytest

from tests.agents import Stage, ended, stage
from workspace.agents import proctree
from workspace.agents.processes import Exit

ESCAPES = {
    "in the background": """{child} & echo $! > "$SAY";""",
    "in a session of its own": """setsid {child} & echo $! > "$SAY";""",
    "of a double fork": """(setsid sh -c 'echo $$ > "$SAY"; exec {child}' &);""",
    "with no environment": """env -i setsid {child} & echo $! > "$SAY";""",
    "stopped": """{child} & echo $! > "$SAY"; kill -STOP $!;""",
}


@pytest.fixture
def agents(tmp_path: Path) -> Stage:
    return stage(tmp_path)


def run(agents: Stage, script: str) -> tuple[Exit, list[int]]:
    """Run an agent that says the numbers of the processes it leaves."""
    running = agents.shell(script).let_go()
    said = agents.heard()
    return ended(running), said


@pytest.mark.case("S15")
@pytest.mark.hazard("H98")
@pytest.mark.parametrize("way", ESCAPES)
def test_a_child_that_outlives_the_agent_is_reported_and_gone(agents: Stage, way: str) -> None:
    script = ESCAPES[way].format(child="sleep 600") + "exit 3"

    finished, (child,) = run(agents, script)

    assert finished.code == 3
    assert [left.pid for left in finished.leftovers] == [child]
    assert "sleep 600" in finished.leftovers[0].command
    assert proctree.look(child) is None
    assert finished.proven_gone


@pytest.mark.case("S15")
@pytest.mark.hazard("H98")
def test_a_writer_that_ignores_the_asking_has_stopped_writing(agents: Stage) -> None:
    child = """setsid sh -c "trap '' TERM HUP INT; echo \\$\\$ > \\"$SAY\\"; while :; do date >> late; done" &"""

    finished, (writer,) = run(agents, f"{child} exit 0")

    late = agents.tree / "late"
    before = late.read_bytes()
    assert writer in {left.pid for left in finished.leftovers}
    assert proctree.look(writer) is None
    assert finished.proven_gone
    assert late.read_bytes() == before


@pytest.mark.case("S15")
def test_a_pipeline_that_ends_with_the_agent_leaves_nothing(agents: Stage) -> None:
    finished, _ = run(agents, """mkfifo p; cat < p & echo $! > "$SAY"; echo through > p; exit 0""")

    assert (finished.leftovers, finished.output.tail) == ((), "through\n")


@pytest.mark.hazard("H98")
def test_what_a_leftover_calls_itself_is_quoted(agents: Stage) -> None:
    script = """sh -c 'sleep 600; true' 'evil\n\033[2J\n' & echo $! > "$SAY"; exit 0"""

    finished, (child,) = run(agents, script)

    commands = {left.pid: left.command for left in finished.leftovers}
    assert r"evil\n\u001b[2J" in commands[child]
    assert all(command.isprintable() for command in commands.values())


@pytest.mark.case("S16")
@pytest.mark.hazard("H99")
def test_a_child_that_holds_the_output_does_not_hold_the_end(agents: Stage) -> None:
    script = """setsid sleep 600 & echo $! > "$SAY"; printf 'first\\nlast line'; exit 7"""

    finished, (child,) = run(agents, script)

    assert (finished.code, finished.output.tail) == (7, "first\nlast line")
    assert finished.output.path.read_text() == "first\nlast line"
    assert proctree.look(child) is None
