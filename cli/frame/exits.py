"""How a command ends: one table of exit codes, and one place where an error becomes one of them."""

import os
import re
import shutil
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import click

from cli.frame import streams
from cli.frame.documents import as_json
from cli.frame.screen import printable, wrapped
from cli.frame.streams import complain, reader_left
from statemachine.refusals import LostRace, NotClean, NotFound, Refusal, Unavailable

_TYPED: Final = re.compile(r"(tasks|git|chmod) ")
"""How a hint begins that can be typed as it is; any other is advice, and is not called the next step."""


class Exit(IntEnum):
    """Say how a command ended."""

    done = 0
    unexpected = 1
    usage = 2
    refused = 3
    lost_race = 4
    not_found = 5
    unavailable = 6
    waits = 10
    cancelled = 12
    merge_blocked = 13
    interrupted = 130


MEANINGS: Final[Mapping[Exit, str]] = {
    Exit.done: "done; for `run`: the task is `in_review`, `approved` or `merged`",
    Exit.unexpected: "an unexpected error",
    Exit.usage: "the command line is wrong",
    Exit.refused: "refused; the code is on stderr and in the JSON (a merge conflict is one too)",
    Exit.lost_race: "somebody was faster, the view is stale, or a lock was not had in time: try again",
    Exit.not_found: "there is no such thing, or the id is ambiguous",
    Exit.unavailable: "the database cannot be reached, or its schema is not the one this version knows",
    Exit.waits: "the task waits for a person (the kind is in the JSON), or recovery is incomplete",
    Exit.cancelled: "the task is cancelled",
    Exit.merge_blocked: "the merge is blocked",
    Exit.interrupted: "interrupted (`tasks work` stopped by a signal: 0 when it ended clean)",
}

RESTS: Final[Mapping[str, Exit]] = {
    "in_review": Exit.done,
    "approved": Exit.done,
    "merged": Exit.done,
    "needs_human": Exit.waits,
    "needs_amendment": Exit.waits,
    "needs_approval": Exit.waits,
    "possibly_fixed": Exit.waits,
    "cancelled": Exit.cancelled,
    "merge_blocked": Exit.merge_blocked,
}
"""How `run` ends where the task rests; the states that are missing are not rests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Hold what a person or a script is told about one error."""

    exit: Exit
    code: str
    message: str
    hint: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


def failure_of(error: BaseException) -> Failure:
    """Turn an error into what is told about it."""
    match error:
        case Refusal():
            return Failure(
                exit=_exit_of(error), code=error.code, message=error.message, hint=error.hint, facts=error.facts
            )
        case click.ClickException():
            return Failure(exit=Exit.usage, code="usage", message=error.format_message(), hint=_help_for(error))
        case KeyboardInterrupt() | click.Abort():
            return Failure(exit=Exit.interrupted, code="interrupted", message="interrupted")
        case _:
            return Failure(
                exit=Exit.unexpected,
                code="unexpected",
                message=f"{type(error).__name__}: {error}",
                hint="set TASKS_DEBUG=1 and run the command again to see where this happened",
            )


def _exit_of(error: Refusal) -> Exit:
    match error:
        case LostRace():
            return Exit.lost_race
        case NotFound():
            return Exit.not_found
        case Unavailable():
            return Exit.unavailable
        case NotClean():
            return Exit.interrupted
        case _:
            return Exit.refused


def _help_for(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    return f"{ctx.command_path} --help" if ctx else "tasks --help"


def report(failure: Failure, *, json: bool) -> None:
    """Tell an error once, on stderr."""
    if json:
        told = {"code": failure.code, "message": failure.message, "hint": failure.hint, "facts": failure.facts}
        text = as_json({"error": told})
    else:
        label = "next:" if _TYPED.match(failure.hint) else "hint:"
        steps = enumerate(failure.hint.splitlines())
        hint = "".join(f"\n{'     ' if row else label} {step}" for row, step in steps)
        columns = shutil.get_terminal_size().columns if streams.complains_to_terminal() else None
        lines = printable(f"error: {failure.message} [{failure.code}]{hint}").split("\n")
        text = "\n".join(wrapped(line, columns) for line in lines)
    complain(text + "\n")


def wants_json(line: Sequence[str]) -> bool:
    """Read `--json` off the command line, because an error may come before it is parsed."""
    options = line[: line.index("--")] if "--" in line else line
    return "--json" in options


def told(error: BaseException, *, line: Sequence[str]) -> Exit:
    """Tell an error once, on stderr, and say how the command ends."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        complain(error.format_message() + "\n")
        return Exit.usage
    if isinstance(error, BrokenPipeError) and reader_left():
        return Exit.unexpected  # and no words, since nobody reads them
    if os.environ.get("TASKS_DEBUG") == "1":
        traceback.print_exception(error)
    failure = failure_of(error)
    report(failure, json=wants_json(line))
    return failure.exit
