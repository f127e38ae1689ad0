"""Play a story on a stage: run each command, show what it said, and hold it to what the story expects of it."""

import os
import select
import shlex
import signal
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from cli.demo.page import Page
from cli.demo.stage import PATIENCE, Stage
from workspace.agents import proctree
from workspace.agents.processes import Exit, Running

if TYPE_CHECKING:
    from cli.demo.schemas import StepDocument

_MILLISECONDS: Final = 200
"""Between two looks whether a command that should ring is still there."""


class SurpriseError(Exception):
    """Something did not go as the story does."""


class Play:
    """Play one story; `steps` is what a script gets of it."""

    def __init__(self, stage: Stage, page: Page) -> None:
        self.stage = stage
        self.page = page
        self.steps: list[StepDocument] = []
        self._scene = ""

    def scene(self, title: str, text: str) -> None:
        """Begin a scene."""
        self._scene = title
        self.page.title(title, text)

    def run(self, *words: str, ends: int = 0, shows: Sequence[str] = ()) -> str:
        """Run a command, which must end with this exit code and say these words; return what it said."""
        self.page.command(words)
        with self.stage.running(words) as running:
            ended = running.wait(PATIENCE)
        return self._record(words, ended, shows, as_told=ended is not None and ended.code == ends)

    def kill(self, *words: str, shows: Sequence[str] = ()) -> int:
        """Run a command until the bell rings and kill it; return the number of its process."""
        self.page.command(words, after=" &")
        with self.stage.running(words) as running:
            self._await_bell(running)
            _kill(running)
            ended = running.wait(PATIENCE)
        self.stage.bell.unlink()
        self._record(words, ended, shows, as_told=ended is not None and ended.signal == signal.SIGKILL)
        return running.handle.pid

    def must(self, fact: bool, sentence: str) -> None:  # noqa: FBT001 - read as: it must be so, or this is said
        """Hold the story to a fact that no single command shows."""
        if not fact:
            raise SurpriseError(sentence)

    def _await_bell(self, running: Running) -> None:
        """Block until the agent rings; a command that ends without it is noticed."""
        bell = os.open(self.stage.bell, os.O_RDONLY | os.O_NONBLOCK)
        try:
            poll = select.poll()
            poll.register(bell, select.POLLIN)
            while not poll.poll(_MILLISECONDS) and running.wait(timedelta(0)) is None:
                pass
        finally:
            os.close(bell)

    def _record(self, words: Sequence[str], ended: Exit | None, shows: Sequence[str], *, as_told: bool) -> str:
        said = ended.output.path.read_text(encoding="utf-8", errors="backslashreplace") if ended else ""
        self.page.said(said)
        self.page.ending(ended)
        missing = next((each for each in shows if each not in said), None)
        step: StepDocument = {
            "scene": self._scene,
            "command": shlex.join(words),
            "exit": ended.code if ended else None,
            "signal": ended.signal if ended else None,
            "output": said,
            "passed": as_told and missing is None,
        }
        self.steps.append(step)
        if not as_told:
            raise SurpriseError(f"{step['command']!r} did not end as the story goes")
        if missing is not None:
            raise SurpriseError(f"{step['command']!r} did not say {missing!r}")
        return said


def _kill(running: Running) -> None:
    process = proctree.look(running.handle.pid)
    if process is not None and process.started == running.handle.started:
        proctree.send(process, signal.SIGKILL)
