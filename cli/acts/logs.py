"""The file an agent's output is captured in: found, shown, followed."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import BinaryIO, Final

from cli.frame.context import Context
from cli.frame.identifiers import Noun, Number, Prefix, short
from cli.frame.lookup import attempt_at
from statemachine.attempts import ENDED
from statemachine.refusals import NotFound
from statemachine.texts import quote
from store import attempts, outputs
from store.attempts import Attempt
from store.outputs import Output
from workspace.disk.files import open_plainly

_NAME: Final = "output.log"
_PIECE: Final = 1 << 16
_PAUSE: Final = 0.25
"""Seconds between two looks at a file that may have grown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """An attempt, where its output lies on this host, and what was recorded of it when it ended."""

    attempt: Attempt
    path: Path
    saved: Output | None


def find(context: Context, named: Number | Prefix) -> Log:
    """Find the file of an attempt's output; while it runs, it is where its worker writes it."""
    with context.database.connection() as db:
        attempt = attempt_at(db, named)
        saved = next((each for each in outputs.listing(db, attempt.task_id) if _is_log(each, attempt)), None)
    path = Path(saved.path) if saved else context.root.attempts / str(attempt.id) / _NAME
    return Log(attempt=attempt, path=path, saved=saved)


def show(context: Context, log: Log) -> None:
    """Print all there is by now."""
    with _opened(log) as file:
        for piece in _pieces(file):
            context.screen.raw(piece)
    if log.attempt.state not in ENDED:
        context.screen.warn(f"{_name(log)} is {log.attempt.state}; --follow goes on with it")
    if log.saved and log.saved.truncated:
        context.screen.warn(f"this is cut: {_name(log)} printed {log.saved.size} bytes")


def whole(log: Log) -> bytes:
    """Read all there is by now."""
    with _opened(log) as file:
        return file.read()


def follow(context: Context, log: Log) -> None:
    """Print what is there and what comes, until the attempt has ended and all of it is printed."""
    with _opened(log) as file:
        ended = False
        while True:
            for piece in _pieces(file):
                context.screen.raw(piece)
            if ended:
                return
            ended = _has_ended(context, log) or Event().wait(_PAUSE)


def _has_ended(context: Context, log: Log) -> bool:
    with context.database.connection() as db:
        return attempts.get_attempt(db, log.attempt.id).state in ENDED


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_PIECE), b"")


def _opened(log: Log) -> BinaryIO:
    try:
        return open_plainly(log.path)
    except OSError as error:
        where = f"on host {quote(log.saved.host)}" if log.saved else "not on this host, or it has not begun to print"
        raise NotFound(
            "log_not_found",
            f"the output of {_name(log)} is {where}: {quote(str(log.path))}: {os.strerror(error.errno or 0)}",
            hint=f"tasks show {log.attempt.task_id}",
        ) from error


def _name(log: Log) -> str:
    return f"attempt {short(Noun.attempt, log.attempt.id)}"


def _is_log(output: Output, attempt: Attempt) -> bool:
    return output.attempt_id == attempt.id and output.kind == "log"
