"""The stage of `tasks demo`: a folder with everything in it, a database of its own, and processes that all end.

Nothing of the person who runs it is read or written: the commands get another home, state and root.
"""

import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final

from cli import scripted_agent
from cli.context import EMBEDDED
from store import embedded
from workspace.processes import Launch, Running, start

AGENT: Final = "scripted-agent"
VARIABLES: Final = "variables"
"""A file in the folder for a shell to read, so that its commands work there too."""

TASKS: Final = (sys.executable, "-P", "-m", "cli.main")
PATIENCE: Final = timedelta(minutes=3)
"""How long one command may take before something is wrong with it."""

_AT_ONCE: Final = timedelta(0)
_OURS: Final = ("TASKS_", "_TASKS_", "GIT_", "PG", "XDG_")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GIT: Final = """\
[user]
    name = You
    email = you@example.com
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder in which commands are run as a person would who has just come to this machine."""

    folder: Path
    actor: str | None = None
    numbers: Iterator[int] = field(default_factory=count, repr=False)

    @property
    def state(self) -> Path:
        """Return where the embedded server lives."""
        return self.folder / "state"

    @property
    def bell(self) -> Path:
        """Return the pipe through which the agent says that it has begun."""
        return self.folder / "bell"

    @property
    def variables(self) -> dict[str, str]:
        """Return what makes our commands work here and nowhere else."""
        told = {"TASKS_STATE": str(self.state), "TASKS_ROOT": str(self.state / "root"), "HOME": str(self.folder)}
        return told | ({"TASKS_ACTOR": self.actor} if self.actor else {})

    def environment(self, source: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a command: the caller's, without what leads to the caller's things."""
        kept = {name: value for name, value in source.items() if not name.startswith(_OURS)}
        path = os.pathsep.join([str(self.folder / "bin"), source.get("PATH") or os.defpath])
        return kept | self.variables | {"PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        """Write one file of the story."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    @contextmanager
    def running(self, words: Sequence[str]) -> Iterator[Running]:
        """Run a command line in the folder; it does not outlive the block."""
        argv = (*TASKS, *words[1:]) if words[0] == "tasks" else tuple(words)
        launch = Launch(
            argv=argv,
            folder=self.folder,
            environment=self.environment(os.environ),
            output=self.folder / "said" / str(next(self.numbers)),
            time_limit=PATIENCE,
        )
        with start(launch) as held:
            running = held.let_go()
        try:
            yield running
        except BaseException:
            _ignore_signals()
            raise
        finally:
            running.stop(_AT_ONCE)


@contextmanager
def folder(*, keep: bool, actor: str | None) -> Iterator[Stage]:
    """Make the folder, and remove it whatever happens, unless it is to be kept."""
    with _signals_interrupt():
        stage = Stage(Path(tempfile.mkdtemp(prefix="weighlock-demo-")).resolve(), actor)
        try:
            _furnish(stage)
            yield stage
        finally:
            _ignore_signals()
            if not keep:
                shutil.rmtree(stage.folder, ignore_errors=True)


@contextmanager
def database(stage: Stage, *, keep: bool) -> Iterator[None]:
    """Keep the embedded server of the story running between its commands, and stop it at the end."""
    server = embedded.attach(stage.state, patience=EMBEDDED)
    try:
        yield
    finally:
        _ignore_signals()
        server.leave()
        if not keep:  # for root it may lie outside the folder
            shutil.rmtree(server.data.parent, ignore_errors=True)


def _furnish(stage: Stage) -> None:
    if os.geteuid() == 0:  # the server runs as a user of its own, who must be able to pass
        stage.folder.chmod(0o711)
    for name in ("said", "state"):
        (stage.folder / name).mkdir()
    stage.state.chmod(0o711)
    os.mkfifo(stage.bell, mode=0o600)
    stage.write(".gitconfig", _GIT)
    stage.write(VARIABLES, "".join(f"export {name}={shlex.quote(value)}\n" for name, value in stage.variables.items()))
    python, agent, bell = (shlex.quote(str(path)) for path in (sys.executable, scripted_agent.__file__, stage.bell))
    stage.write(f"bin/{AGENT}", f"#!/bin/sh\nexec {python} -I {agent} {bell}\n", 0o755)
    stage.write("bin/python3", f'#!/bin/sh\nexec {python} "$@"\n', 0o755)  # the check of the plan wants one


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let every polite signal end the demo as Ctrl-C does, so that it cleans up."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
