"""The stage of `tasks demo`: a folder with everything in it, a database of its own, and processes that all end.

Nothing of the person who runs it is read or written: the commands get another home, settings, state and root.
"""

import json
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

from cli.demo import scripted_agent
from cli.frame.context import EMBEDDED
from statemachine.refusals import Refusal
from store import embedded, homes
from workspace import executors
from workspace.agents.confinement import Confinement
from workspace.agents.processes import Launch, Running, start
from workspace.executors.programs import in_system

AGENT: Final = "scripted-agent"
TASKS: Final = (sys.executable, "-P", "-m", "cli.main")
PATIENCE: Final = timedelta(minutes=3)
"""How long one command may take before something is wrong with it."""

_AT_ONCE: Final = timedelta(0)
_THEIRS: Final = ("TASKS_", "_TASKS_", "GIT_", "PG", "XDG_")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SANDBOX: Final = "[sandbox]\nmin_free = 0\nreadable = [{}]\n"
_GIT: Final = "[user]\n    name = You\n    email = you@example.com\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A folder in which commands are run as by a person who has just come to this machine."""

    folder: Path
    keep: bool = False
    actor: str | None = None
    variables_file: str = "variables"
    numbers: Iterator[int] = field(default_factory=count, repr=False)

    @property
    def state(self) -> Path:
        """Return where the embedded server lives."""
        return self.folder / "state"

    @property
    def bell(self) -> Path:
        """Return the pipe through which the agent says that it has begun."""
        return self.folder / "ring" / "bell"

    @property
    def confinement(self) -> Confinement:
        """Return what agents of the demo may: read what runs them, and ring, however full the disk is."""
        places = [self.bell.parent, Path(scripted_agent.__file__), Path(sys.prefix)]
        return Confinement(readable=tuple(place for place in places if not in_system(place)), min_free=0)

    @property
    def executor(self) -> tuple[str, str]:
        """Return where the agent runs, and why it is not a sandbox where it is none."""
        try:
            executors.find("sandbox", self.confinement).probe()
        except Refusal as refused:
            return "local", refused.message
        return "sandbox", ""

    @property
    def variables(self) -> dict[str, str]:
        """Return what makes our commands work here and nowhere else; an empty one says nothing."""
        return {
            "TASKS_CONFIG": str(self.folder / "config.toml"),
            "TASKS_DATABASE_URL": "",
            "TASKS_STATE": str(self.state),
            "TASKS_ROOT": str(self.state / "root"),
            "TASKS_ACTOR": self.actor or "",
        }

    def environment(self, source: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a command: the caller's, without what leads to the caller's things."""
        kept = {name: value for name, value in source.items() if not name.startswith(_THEIRS)}
        path = os.pathsep.join([str(self.folder / "bin"), source.get("PATH") or os.defpath])
        return kept | self.variables | {"PATH": path, "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def write(self, name: str, text: str, *, mode: int = 0o644) -> None:
        """Write one file."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    @contextmanager
    def running(self, words: Sequence[str]) -> Iterator[Running]:
        """Run a command line in the folder; nothing of it outlives the block."""
        launch = Launch(
            argv=(*TASKS, *words[1:]) if words[0] == "tasks" else words,
            folder=self.folder,
            environment=self.environment(os.environ),
            output=self.folder / "said" / f"{next(self.numbers)}.txt",
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
    def database(self) -> Iterator[None]:
        """Keep the embedded server running between the commands: no longer than this, and no shorter."""
        home = homes.home_of(self.state)
        try:
            server = embedded.attach(self.state, patience=EMBEDDED)
            try:
                yield
            finally:
                _ignore_signals()
                server.leave()
        finally:
            if not self.keep:  # for root it may lie outside of the folder
                shutil.rmtree(home, ignore_errors=True)


@contextmanager
def raised(*, keep: bool = False, actor: str | None = None) -> Iterator[Stage]:
    """Make a stage, and remove it whatever happens, unless it is to be kept."""
    with _signals_interrupt():
        stage = Stage(folder=Path(tempfile.mkdtemp(prefix="weighlock-demo-")).resolve(), keep=keep, actor=actor)
        try:
            _furnish(stage)
            yield stage
        finally:
            _ignore_signals()
            if not keep:
                shutil.rmtree(stage.folder, ignore_errors=True)


def _furnish(stage: Stage) -> None:
    for name in ("said", "state", "ring"):
        (stage.folder / name).mkdir(mode=0o700)
    if os.geteuid() == 0:  # the server then runs as a user of its own, who must be able to pass
        stage.folder.chmod(0o711)
        stage.state.chmod(0o711)
    stage.bell.parent.chmod(0o755)
    os.mkfifo(stage.bell)
    stage.bell.chmod(0o622)  # an agent in a sandbox may be somebody else
    stage.write(".gitconfig", _GIT)
    readable = ", ".join(json.dumps(str(place)) for place in stage.confinement.readable)
    executor, lacking = stage.executor
    named = f"executor = {json.dumps(executor)}\n" if lacking else ""
    stage.write("config.toml", f"# Everything is as it comes, but for this.\n{named}{_SANDBOX.format(readable)}")
    exports = (f"export {name}={shlex.quote(value)}\n" for name, value in stage.variables.items())
    stage.write(stage.variables_file, "".join(exports))
    python, agent, bell = (shlex.quote(str(path)) for path in (sys.executable, scripted_agent.__file__, stage.bell))
    stage.write(f"bin/{AGENT}", f"#!/bin/sh\nexec {python} -I {agent} {bell}\n", mode=0o755)
    stage.write("bin/python3", f'#!/bin/sh\nexec {python} "$@"\n', mode=0o755)  # the check of the plan wants one


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
