"""One line of a task's history, told on two: what moved it where, and who, in which attempt and why."""

from collections.abc import Mapping
from uuid import UUID

from cli.frame.identifiers import Noun, short
from cli.frame.screen import when
from statemachine.texts import one_line
from store.tasks import Line


def told(line: Line, numbers: Mapping[UUID, int]) -> list[str]:
    """Tell one line; `numbers` are those of the task's attempts."""
    then = f" -> {line.dest}" if line.dest else ""
    of = line.attempt_id
    attempt = f", attempt {numbers.get(of, '?')} ({short(Noun.attempt, of)})" if of else ""
    why = f": {one_line(line.reason, 300)}" if line.reason else ""
    return [f"{when(line.at)}  {line.event}{then}", f"    by {one_line(line.actor)}{attempt}{why}"]
