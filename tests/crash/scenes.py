"""What the crash tests have in common: a story that passes every point, and real processes that end at one of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from statemachine.failpoints import POINTS, VARIABLE
from statemachine.plans import Item
from store import workers
from store.tasks import Task
from tests.crash.checker import Checker
from tests.recovery.scenes import until
from tests.store.scenes import aged, asked
from tests.workshop import ROOT, Workshop, edit, item
from worker import additions

Process = subprocess.Popen[str]

ONE: Final = (item("P1", edit("a.txt")),)
TWO: Final = (*ONE, item("P2", edit("src/x.py")))

# An agent keeps a journal of its own, the only witness that is not ours.
PROLOGUE: Final = 'echo "$TASKS_ATTEMPT $TASKS_ITEM" >> "$JOURNAL"\n'
APPEND: Final = "echo P1 >> a.txt\n"
# P1 fails the first time it is let come to its end.
STORY: Final = """case $TASKS_ITEM in
P1) echo P1 >> a.txt; test -e "$JOURNAL.failed" || { : > "$JOURNAL.failed"; exit 3; };;
P2) echo P2 >> src/x.py;;
esac
"""
UNSAFE: Final = """echo P1 >> a.txt
ln -s /etc/passwd link
echo "$TASKS_ATTEMPT unsafe" >> "$JOURNAL"
"""
OUTSIDE: Final = "echo P1 >> a.txt\necho more > more.txt\n"
# The first turn waits to be ended; a trap would not be heard while a child runs.
WAITING: Final = 'echo P1 >> a.txt\ntest -e "$JOURNAL.rang" || { : > "$JOURNAL.rang"; : > "$BELL"; exec sleep 600; }\n'


TRIED: Final[set[str]] = set()
"""The points some test kills a process at, as far as tests were imported."""


def between(first: str, last: str) -> list[str]:
    """List the points from one to another, in the order of the table."""
    names = list(POINTS)
    return names[names.index(first) : names.index(last) + 1]


def at(points: Iterable[str]) -> pytest.MarkDecorator:
    """Run a test at each of these points, and remember that there is one."""
    chosen = list(points)
    TRIED.update(chosen)
    return pytest.mark.parametrize("point", chosen)


@dataclass(slots=True, kw_only=True)
class Stage:
    """A workshop, with processes that end at a fail point and the checker that looks at what is left."""

    workshop: Workshop
    superuser_url: str

    @property
    def journal(self) -> Path:
        return self.workshop.folder / "journal"

    def add(self, script: str = APPEND, *items: Item, **more: Any) -> Task:
        """Add a task whose agent is a shell script."""
        place = self.workshop.folder / "agent.sh"
        place.write_text(
            f"JOURNAL={self.journal}\nBELL={self.workshop.bell}\n{PROLOGUE}{script}",
            encoding="ascii",
        )
        return additions.add_task(
            self.workshop.database,
            self.workshop.root,
            plan=self.workshop.plan(*(items or ONE), **{"agent": f"sh {place}", **more}),
            repository=str(self.workshop.repository),
            executor="local",
            actor="ann",
            agents={},
        )

    @contextmanager
    def process(self, *command: object, fail_at: str = "", **environment: str) -> Iterator[Process]:
        """Run a command of ours as a process of its own; it is killed if it outlives the block."""
        given = {
            **os.environ,
            "TASKS_DATABASE_URL": self.workshop.url,
            "TASKS_ROOT": str(self.workshop.root.path),
            "TASKS_CONFIG": str(self.workshop.config),
            "TASKS_EXECUTOR": "local",
            VARIABLE: fail_at,
            **environment,
        }
        line = [sys.executable, "-m", "cli.main", *map(str, command)]
        with subprocess.Popen(line, env=given, cwd=ROOT, stdout=sys.stderr, text=True) as process:
            try:
                yield process
            finally:
                process.poll() is None and process.kill()

    def killed_at(self, point: str, *command: object) -> None:
        """Run a command up to a point where it kills itself, and wait until the server has seen it go."""
        with self.process(*command, fail_at=point) as process:
            assert process.wait() == -signal.SIGKILL, f"it never got to {point}"
        self.seen_gone(process)

    @contextmanager
    def stopped_at(self, point: str, *command: object) -> Iterator[Process]:
        """Run a command up to a point where it stops itself; it goes on when the block ends, and to its end."""
        with self.process(*command, fail_at=f"{point}:stop") as process:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), f"it never got to {point}"
            yield process
            process.send_signal(signal.SIGCONT)
            process.wait()

    @contextmanager
    def held_at(self, point: str, *command: object, told_to_end: bool = False) -> Iterator[Process]:
        """Run a command up to a point where it waits; it goes on when the block ends, and to its end.

        `told_to_end` once an agent rang: the point is one of the way out.
        """
        folder = self.workshop.folder / "held"
        folder.mkdir()
        for name in ("reached", "go"):
            os.mkfifo(folder / name)
        with self.process(*command, fail_at=f"{point}:pause:{folder}") as process:
            if told_to_end:
                self.workshop.heard()
                process.send_signal(signal.SIGTERM)
            (folder / "reached").read_bytes()
            yield process
            (folder / "go").write_bytes(b"")
            process.wait()

    def seen_gone(self, process: Process) -> None:
        """Wait until a dead process's sign of life is free: from then on it is proven dead."""
        held = (
            "SELECT FROM pg_locks JOIN worker ON objid = worker.id WHERE locktype = 'advisory' AND classid = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND worker.pid = %s"
        )
        until(lambda: not asked(self.superuser_url, held, workers.LOCK_SPACE, process.pid), "its lock is free")

    def lapse_merges(self) -> None:
        """Let the leases of merges run out, and the time their pushes could take."""
        if asked(self.superuser_url, "SELECT FROM merge_attempt"):
            aged(
                self.superuser_url,
                "UPDATE merge_attempt SET lease_expires = lease_expires - interval '1 day',"
                " pushing_at = pushing_at - interval '1 day'",
            )

    def repaired(self, task: Task) -> Task:
        """Recover as a service does when it starts, and work until the task rests."""
        report = self.workshop.recover()
        assert report.complete, report.unfinished
        return self.workshop.work(task)

    def wrongs(self) -> list[str]:
        """List what is not as designed."""
        return Checker(url=self.superuser_url, root=self.workshop.root, journal=self.journal).wrongs()
