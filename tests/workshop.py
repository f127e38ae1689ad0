"""A workshop: one real repository, one real root, one real database, and agents written on the spot."""

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.acts import working
from recovery.passes import recover
from recovery.reports import Report
from statemachine.plans import Item, Operation, OperationKind, Plan
from store import allocations, answers, attempts, checks, findings, ledger, outputs, pauses, tasks
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Database
from store.findings import Finding
from store.ledger import Entry
from store.pauses import Pause
from store.tasks import Line, Task
from store.words import Word
from tests.factories import a_repository, git
from tests.sandboxes import needs_sandbox
from worker import additions, service
from worker.publishing import publish_refs
from worker.settings import WorkSettings
from workspace.agents.confinement import Confinement
from workspace.disk.roots import Root, open_root
from workspace.repository import refs
from workspace.repository.repositories import RunnerRepository
from workspace.results.commits import Identity

ROOT = Path(__file__).parents[1]
PATIENCE = timedelta(seconds=60)
SETTINGS = WorkSettings(name="w1", poll=timedelta(milliseconds=50), executors=("local",))
# For a test of what holds whatever an agent runs in.
EVERYWHERE = pytest.mark.parametrize("workshop", ["local", "sandbox"], indirect=True)
SANDBOXED = pytest.mark.parametrize("workshop", ["sandbox"], indirect=True)
COUNT = """\
turns = open({turns!r}, 'a+'); turns.write(item + '\\n'); turns.flush(); turns.seek(0)
turn = turns.read().split().count(item)
turns.close()
"""


def edit(path: str, kind: str = "edit", **more: Any) -> Operation:
    return Operation(kind=OperationKind(kind), path=path, **more)


def item(item_id: str, *operations: Operation, **more: Any) -> Item:
    return Item(id=item_id, title=f"Do {item_id}", intent=f"Please do {item_id}.", operations=operations, **more)


@dataclass(slots=True)
class Workshop:
    """Everything a run needs, and short words for what tests ask of it."""

    database: Database
    url: str
    folder: Path
    root: Root
    repository: Path
    executor: str = "local"
    said: list[str] = field(default_factory=list)

    @property
    def config(self) -> Path:
        place = self.folder / "config.toml"
        place.touch()
        return place

    @property
    def confinement(self) -> Confinement:
        """Show agents in a sandbox the bell; what this host's disk has left is no matter of the tests."""
        return Confinement(readable=(self.bell,), min_free=0)

    @property
    def bell(self) -> Path:
        return self.folder / "bell"

    def heard(self) -> None:
        """Wait until an agent rings; one that never does fails the test instead of holding it."""
        reader = os.open(self.bell, os.O_RDONLY | os.O_NONBLOCK)
        try:
            rung, _, _ = select.select([reader], [], [], PATIENCE.total_seconds())
        finally:
            os.close(reader)
        assert rung, "no agent rang"

    # ------------------------------------------------------------ doing

    def agent(self, script: str) -> str:
        """Write an agent: Python text run in the work tree.

        At hand are `item`, `turn` (how often this item ran, from 1), `ring()`, which the test hears with
        `heard()`, and `hold()`, which never returns. In a sandbox nothing can be counted outside: no `turn` there.
        """
        count = len(list(self.folder.glob("agent-*.py")))
        place = self.folder / f"agent-{count}.py"
        turns = self.folder / f"agent-{count}.turns"
        place.write_text(
            "import os, signal, subprocess, sys\n"
            "item = os.environ['TASKS_ITEM']\n"
            + (COUNT.format(turns=str(turns)) if self.executor == "local" else "")
            + f"def ring(): open({str(self.bell)!r}, 'w').close()\n"
            "def hold(): signal.pause()\n" + script,
            encoding="utf-8",
        )
        return f"{sys.executable} {place}"

    def plan(self, *items: Item, **more: Any) -> Plan:
        default = (item("P1", edit("a.txt")),)
        return Plan(title="A story", base="main", target="main", **{"agent": None, "items": items or default, **more})

    def add(self, script: str, *items: Item, **more: Any) -> Task:
        """Add a task whose agent runs this script."""
        plan = replace(self.plan(*items, **more), agent=self.agent(script))
        return additions.add_task(
            self.database,
            self.root,
            plan=plan,
            repository=str(self.repository),
            executor=self.executor,
            confinement=self.confinement,
            actor="ann",
            agents={},
        )

    def work(self, task: Task, **settings: Any) -> Task:
        """Work until the task rests."""
        service.work(
            self.database,
            self.root,
            replace(SETTINGS, **{"executors": (self.executor,), "confinement": self.confinement, **settings}),
            recover=lambda _: None,
            say=self.said.append,
            task=task.id,
        )
        return self.look(task)

    def run(self, script: str, *items: Item, **more: Any) -> Task:
        """Add a task and work until it rests."""
        return self.work(self.add(script, *items, **more))

    @contextmanager
    def working(self, task: Task, **settings: Any) -> Iterator[threading.Thread]:
        """Work in a thread beside the test, which ends the agent by what it does."""
        thread = threading.Thread(target=self.work, args=(task,), kwargs=settings)
        thread.start()
        try:
            yield thread
        finally:
            thread.join()

    @contextmanager
    def serving(self, *options: object, url: str = "", **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a worker as a process of its own, by the command people use; through another URL where one is given."""
        environment = {
            **os.environ,
            "TASKS_DATABASE_URL": url or self.url,
            "TASKS_ROOT": str(self.root.path),
            "TASKS_CONFIG": str(self.config),
            "TASKS_EXECUTOR": self.executor,
            "TASKS_SANDBOX": json.dumps({"readable": [str(self.bell)], "min_free": 0}),
        }
        command = [sys.executable, "-m", "cli.main", "work", *map(str, options)]
        with subprocess.Popen(command, env=environment, cwd=ROOT, **{"stdout": sys.stderr, **more}) as process:
            try:
                yield process
            finally:
                process.poll() is None and process.terminate()
                process.wait()

    def approve(self, task: Task, **word: Any) -> Task:
        """Answer the task's gate with yes, and let the refs follow."""
        return self._answer(answers.approve, task, word)

    def reject(self, task: Task, **word: Any) -> Task:
        """Answer the task's gate with no, and let the refs follow."""
        return self._answer(answers.reject, task, word)

    def recover(self, *, dry_run: bool = False, **more: Any) -> Report:
        given: dict[str, Any] = {"actor": "recovery", "identity": Identity(), "conclude": working.conclude}
        return recover(self.database, self.root, dry_run=dry_run, **{**given, **more})

    def _answer(self, answer: Any, task: Task, word: dict[str, Any]) -> Task:
        by = word.pop("by", "rev")
        gate = self.look(task).gate_id
        assert gate is not None
        with self.database.transaction() as db:
            moved: Task = answer(db, gate, Word(actor=by, **word)).task
        publish_refs(self.database, self.root, task.id)
        return moved

    # ------------------------------------------------------------ looking

    def look(self, task: Task) -> Task:
        with self.database.connection() as db:
            return tasks.get(db, task.id)

    def attempts(self, task: Task) -> list[Attempt]:
        with self.database.connection() as db:
            return attempts.listing(db, task.id)

    def findings(self, task: Task) -> list[Finding]:
        with self.database.connection() as db:
            return findings.listing(db, task=task.id)

    def kinds(self, task: Task) -> list[str]:
        return sorted(finding.kind.value for finding in self.findings(task))

    def history(self, task: Task) -> list[Line]:
        with self.database.connection() as db:
            return tasks.history(db, task.id)

    def events(self, task: Task) -> list[str]:
        return [line.event for line in self.history(task) if line.dest]

    def ledger(self, task: Task) -> list[Entry]:
        with self.database.connection() as db:
            return ledger.listing(db, task.id)

    def pause(self, task: Task) -> Pause | None:
        with self.database.connection() as db:
            return pauses.latest(db, task.id)

    def allocations(self, task: Task) -> list[Allocation]:
        with self.database.connection() as db:
            return allocations.listing(db, task=task.id, released=True)

    def outputs(self, task: Task) -> list[outputs.Output]:
        with self.database.connection() as db:
            return outputs.listing(db, task.id)

    def results(self, task: Task) -> list[checks.Result]:
        with self.database.connection() as db:
            return checks.latest(db, task=task.id, head=self.look(task).head)

    def runner(self) -> RunnerRepository:
        places = list(self.root.repositories.glob("*.git"))
        return RunnerRepository(places[0], _format(places[0]))

    def refs(self) -> dict[str, str]:
        return refs.listing(self.runner(), refs.PREFIX)

    def show(self, commit: str, path: str) -> str:
        """Read a file of a commit from the runner repository."""
        return git(self.runner().path, "show", f"{commit}:{path}")

    def changed(self, commit: str) -> list[str]:
        """List the paths a commit changed."""
        said = git(self.runner().path, "diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", commit)
        return said.split("\n") if said else []

    def log(self, task: Task) -> str:
        """Read what the last attempt printed."""
        place = self.root.attempts / str(self.attempts(task)[-1].id) / "output.log"
        return place.read_text(encoding="utf-8", errors="replace")


def _format(place: Path) -> str:
    return "sha256" if "sha256" in (place / "config").read_text(encoding="utf-8") else "sha1"


def a_workshop(
    database: Database, url: str, folder: Path, files: dict[str, str] | None = None, executor: str = "local"
) -> Workshop:
    """Open a workshop in an empty folder."""
    if executor == "sandbox":
        needs_sandbox()
    os.mkfifo(folder / "bell")
    (folder / "bell").chmod(0o622)  # an agent in a sandbox is somebody else
    repository = a_repository(folder, files=files or {"a.txt": "a\n", "src/x.py": "x = 1\n", ".gitignore": "*.log\n"})
    root = open_root(folder / "root")
    return Workshop(database=database, url=url, folder=folder, root=root, repository=repository, executor=executor)
