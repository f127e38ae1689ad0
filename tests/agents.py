"""Start real agents as the worker does, for tests to be hostile in."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TypedDict, Unpack
from uuid import uuid4

from workspace.agents import proctree
from workspace.agents.processes import Exit, Held, Launch, Running, start


class Changes(TypedDict, total=False):
    """What a test may want otherwise."""

    folder: Path
    environment: Mapping[str, str]
    output: Path
    time_limit: timedelta
    identity: tuple[int, int]
    secrets: Sequence[str]


MINUTE = timedelta(minutes=1)
AT_ONCE = timedelta(milliseconds=50)


@dataclass(frozen=True, slots=True)
class Stage:
    """Hold a work tree, an output file, and a pipe with a name by which an agent says how far it is."""

    folder: Path
    attempt: str = field(default_factory=lambda: str(uuid4()))

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def fifo(self) -> Path:
        return self.folder / "fifo"

    def launch(self, *argv: str, **changes: Unpack[Changes]) -> Launch:
        """Describe an agent that knows the pipe as $SAY and an interpreter as $PYTHON."""
        environment = {
            "PATH": os.environ["PATH"],
            "TASKS_ATTEMPT": self.attempt,
            "SAY": str(self.fifo),
            "PYTHON": sys.executable,
        }
        plain = Launch(argv=argv, folder=self.tree, environment=environment, output=self.output)
        return replace(plain, **changes)

    def start(self, *argv: str, **changes: Unpack[Changes]) -> Held:
        """Start it, held."""
        return start(self.launch(*argv, **changes))

    def shell(self, script: str, **changes: Unpack[Changes]) -> Held:
        """Start a shell script, held."""
        return self.start("sh", "-c", script, **changes)

    def python(self, source: str, **changes: Unpack[Changes]) -> Held:
        """Start a Python program, held."""
        return self.start(sys.executable, "-I", "-S", "-c", source, **changes)

    def heard(self) -> list[int]:
        """Wait until the agent has said something: numbers of processes, as a rule."""
        return [int(word) for word in self.fifo.read_text().split()]

    def living(self) -> list[int]:
        """List the living processes that were started for this attempt."""
        entry = f"TASKS_ATTEMPT={self.attempt}".encode()
        return [each.pid for each in proctree.scan().values() if not each.gone and proctree.carries(each.pid, entry)]


def stage(folder: Path) -> Stage:
    """Make a stage in an empty folder."""
    made = Stage(folder)
    made.tree.mkdir()
    os.mkfifo(made.fifo)
    return made


def ended(running: Running) -> Exit:
    """Wait for the end."""
    found = running.wait(MINUTE)
    assert found is not None
    return found


def is_alive(pid: int) -> bool:
    """Say whether a process has this number and is not merely uncollected."""
    process = proctree.look(pid)
    return process is not None and not process.gone
