"""The command line as a test uses it: in this process where that is enough, else in a process of its own."""

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from cli.main import main

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Read the one document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """Read the error on stderr."""
        return json.loads(self.err)["error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Type commands at one database and one root."""

    database_url: str
    root: Path
    actor: str = "ann"
    executor: str = "local"

    @property
    def environment(self) -> dict[str, str]:
        """Give what a person would have set."""
        return {
            "TASKS_DATABASE_URL": self.database_url,
            "TASKS_ROOT": str(self.root),
            "TASKS_ACTOR": self.actor,
            "TASKS_EXECUTOR": self.executor,
        }

    def __call__(self, *arguments: object) -> Done:
        """Run one command line in this process."""
        out, err = _stream(), _stream()
        with (
            mock.patch.dict(os.environ, self.environment),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main([str(each) for each in arguments])
        return Done(code=code, out=_text(out), err=_text(err))

    def process(
        self, *arguments: object, cwd: Path | None = None, given: str = "", environment: Mapping[str, str] | None = None
    ) -> Done:
        """Run one command line in a process of its own."""
        ran = subprocess.run(
            [sys.executable, "-m", "cli.main", *map(str, arguments)],
            env={**os.environ, **self.environment, "PYTHONPATH": str(REPOSITORY), **(environment or {})},
            cwd=cwd or self.root.parent,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Done(code=ran.returncode, out=ran.stdout, err=ran.stderr)

    def on_a_screen(self, *arguments: object, environment: Mapping[str, str] | None = None) -> str:
        """Run one command line on a terminal and give what it would show."""
        ours, theirs = pty.openpty()
        screen = {"TERM": "xterm", "COLUMNS": "200", **(environment or {})}
        with subprocess.Popen(
            [sys.executable, "-m", "cli.main", *map(str, arguments)],
            env={**os.environ, **self.environment, "PYTHONPATH": str(REPOSITORY), **screen},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            close_fds=True,
        ):
            os.close(theirs)
            shown = _drained(ours)
        os.close(ours)
        return shown.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    whole = stream.buffer.getvalue() if isinstance(stream.buffer, io.BytesIO) else b""
    return whole.decode("utf-8", "backslashreplace")


def _drained(descriptor: int) -> bytes:
    whole = b""
    with contextlib.suppress(OSError):  # the other side is closed
        while piece := os.read(descriptor, 65536):
            whole += piece
    return whole
