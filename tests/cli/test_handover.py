"""What the database's address can be read from while an agent runs: not from the process that runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import factories
from tests.cli.terminal import REPOSITORY, Terminal
from workspace.agents.handovers import PIPE

PLAN = """\
title: Look around
base: main
target: main
items:
  - id: P1
    title: Look around
    intent: Look around.
    files:
      - edit: README.md
"""
# Reads what every process above it shows of itself, up to the one of the test.
LOOK = """\
import os, pathlib, sys
seen, pid = [], os.getppid()
while pid not in (0, 1, int(sys.argv[2])):
    shown = pathlib.Path(f"/proc/{pid}")
    seen += [(shown / "cmdline").read_bytes(), (shown / "environ").read_bytes()]
    pid = int((shown / "stat").read_text().rpartition(")")[2].split()[1])
pathlib.Path(sys.argv[1]).write_bytes(b"\\n".join(seen))
open("README.md", "a").write("looked\\n")
"""


@pytest.fixture
def looking(tmp_path: Path) -> tuple[str, Path]:
    """Give an agent that looks around, and where it writes down what it saw."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    script, seen = tmp_path / "look.py", tmp_path / "seen"
    script.write_text(LOOK)
    return f"{sys.executable} {script} {seen} {os.getpid()}", seen


@pytest.mark.hazard("H111")
@pytest.mark.parametrize("way", ["variable", "flag", "flag with a sign"])
def test_no_process_above_an_agent_shows_where_the_database_is(
    database_url: str, database_name: str, tmp_path: Path, looking: tuple[str, Path], way: str
) -> None:
    agent, seen = looking
    tasks = Terminal(database_url=database_url, root=tmp_path / "root")
    source = factories.a_repository(tmp_path)
    given = {
        "variable": ([], {"PGAPPNAME": "hunter2", "OTHER_DATABASE_URL": "hunter2"}),
        "flag": (["--database-url", database_url], {"TASKS_DATABASE_URL": "hunter2"}),
        "flag with a sign": ([f"--database-url={database_url}"], {"TASKS_DATABASE_URL": "hunter2"}),
    }
    words, variables = given[way]

    done = tasks.process(
        "run", tmp_path / "plan.yaml", "--repo", source, "--agent", agent, *words, environment=variables
    )

    shown = seen.read_bytes()
    assert done.code == 0
    assert b"cli.main" in shown
    assert database_name.encode() not in shown
    assert b"hunter2" not in shown
    assert PIPE.encode() + b"=" in shown  # a number, of a pipe that is read and closed


def test_whoever_leads_nowhere_is_not_started_twice(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "DATABASE" not in name and name[:2] != "PG"}
    code = f"import os, sys; sys.path.insert(0, {str(REPOSITORY)!r}); from workspace.agents import handovers\n"
    code += "print(os.getpid(), handovers.keep_to_ourselves(sys.argv[1:]), os.environ.get('TASKS_DATABASE_URL'))"

    def said(*words: str, **more: str) -> list[str]:
        command = [sys.executable, "-c", code, *words]
        ran = subprocess.run(command, env={**environment, **more}, capture_output=True, text=True, check=True)
        return ran.stdout.splitlines()

    assert [line.partition(" ")[2] for line in said("work", "--once")] == ["['work', '--once'] None"]
    assert [line.partition(" ")[2] for line in said("work", "--database-url", "x", "--", "--database-url", "y")] == [
        "['work', '--', '--database-url', 'y'] x"
    ]
    assert [line.partition(" ")[2] for line in said("work", TASKS_DATABASE_URL="z" * 100_000)] == [
        f"['work'] {'z' * 100_000}"
    ]
