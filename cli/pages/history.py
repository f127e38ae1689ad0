"""One line of a task's history, told on two: what moved it where, and who, in which attempt and why."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from cli.frame.identifiers import Noun, short
from cli.frame.screen import when
from statemachine.texts import one_line
from store.tasks import Line

_ITSELF: Final = "attempt"
"""How the database calls whoever ended an attempt; the line before or after it says who that was."""


def told(line: Line, numbers: Mapping[UUID, int]) -> list[str]:
    """Tell one line; `numbers` are those of the task's attempts."""
    then = f" -> {line.dest}" if line.dest else ""
    of = line.attempt_id
    attempt = f"attempt {numbers.get(of, '?')} ({short(Noun.attempt, of)})" if of else ""
    who = "" if line.actor == _ITSELF else f"by {one_line(line.actor)}"
    why = f": {one_line(line.reason, 300)}" if line.reason else ""
    return [f"{when(line.at)}  {line.event}{then}", f"    {', '.join(filter(None, (who, attempt)))}{why}"]
