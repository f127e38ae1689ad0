"""The stage of a soak: one embedded server, one repository, one root, and what everybody who takes part shares."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Final

from statemachine.failpoints import VARIABLE
from statemachine.plans import Item, Operation, OperationKind, Plan
from statemachine.refusals import Refusal
from store import embedded, programs
from store.engine import Database, open_database
from store.tasks import Task
from tests.crash.servers import PATIENCE, SETTINGS
from tests.factories import a_repository
from worker import additions
from workspace.disk.roots import Root, open_root

ROOT: Final = Path(__file__).parents[2]
MODES: Final = ("clean", "clean", "clean", "slow", "slow", "fail", "outside", "unsafe", "hang")
# Short, so that whoever sleeps is overtaken; long enough for a machine whose server restarts every few seconds.
LEASE: Final = "6s"
GRACE: Final = "5s"


@dataclass(slots=True, kw_only=True)
class Stage:
    """Everything a soak works with; `wrong` is what no one may do wrong, `did` what was done."""

    folder: Path
    random: Random
    server: embedded.Server
    database: Database
    root: Root
    repository: Path
    did: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    merging: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    def environment(self, fail_at: str = "") -> dict[str, str]:
        ours = {
            "STATE": self.folder / "state",
            "ROOT": self.root.path,
            "LEASE": LEASE,
            "GRACE": GRACE,
            "EXECUTOR": "local",
        }
        named = {f"TASKS_{name}": str(value) for name, value in ours.items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TASKS_")}
        return {**kept, **named, "XDG_CONFIG_HOME": str(self.folder), VARIABLE: fail_at}

    def start(self, *command: object, fail_at: str = "") -> "subprocess.Popen[bytes]":
        """Start a command of ours; what it says goes to the log of the soak."""
        with (self.folder / "log").open("ab") as log:
            line = [sys.executable, "-m", "cli.main", *map(str, command)]
            return subprocess.Popen(line, env=self.environment(fail_at), cwd=ROOT, stdout=log, stderr=log)

    def add(self) -> Task | None:
        """Add a task of one to three items, each with a mode of its own; nothing where the server is away."""
        number = self.did["tasks"]
        modes = [self.random.choice(MODES) for _ in range(self.random.randint(1, 3))]
        items = tuple(_item(f"P{nth}") for nth in range(1, len(modes) + 1))
        plan = Plan(
            title=f"Soak {number}",
            base="main",
            target=f"soak-{number}",
            agent=f"sh {Path(__file__).with_name('agent.sh')} {self.folder} {' '.join(modes)}",
            items=items,
            checks=("test -s 1.txt",) if self.random.random() < 0.3 else (),
        )
        self.did["tasks"] += 1
        with suppress(Refusal):
            return additions.add_task(
                self.database,
                self.root,
                plan=plan,
                repository=str(self.repository),
                executor="local",
                actor="ann",
                agents={},
            )
        return None

    def crash(self) -> None:
        """Stop the server as a crash does; whoever misses it starts it again."""
        account = programs.account_of(self.server.data)
        stop = ("stop", "-m", "immediate", "-s", "-D", str(self.server.data))
        programs.run("pg_ctl", *stop, account=account, patience=PATIENCE)


def _item(name: str) -> Item:
    path = f"{name.removeprefix('P')}.txt"
    return Item(
        id=name,
        title=f"Do {name}",
        intent=f"Please do {name}.",
        operations=(Operation(kind=OperationKind.edit, path=path),),
        retries=2,
    )


@contextmanager
def a_stage(seed: int) -> Iterator[Stage]:
    """Set the stage, and clear it away where nothing was wrong."""
    folder = Path(tempfile.mkdtemp(prefix="weighlock-soak-"))
    folder.chmod(0o711)  # the user the server runs as may pass
    for name in ("marks", "weighlock"):
        (folder / name).mkdir()
    server = embedded.attach(folder / "state", settings=SETTINGS)
    database = open_database(None, state=folder / "state", name="soak", patience=timedelta(seconds=10))
    stage = Stage(
        folder=folder,
        random=Random(seed),
        server=server,
        database=database,
        root=open_root(folder / "root"),
        repository=a_repository(folder, files={f"{number}.txt": "base\n" for number in (1, 2, 3)}),
    )
    try:
        yield stage
    except BaseException:
        stage.wrong.append("the soak itself broke off")
        raise
    finally:
        database.close()
        server.leave()
    if not stage.wrong:
        shutil.rmtree(folder, ignore_errors=True)
