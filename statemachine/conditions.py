"""Conditions in order: the first that does not hold is the refusal."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from string import Formatter
from typing import Generic, Protocol, TypeVar

from statemachine.refusals import Refusal
from statemachine.sentences import WORDS
from statemachine.texts import listing, quote


class AboutTask(Protocol):
    """Be facts about one task."""

    @property
    def task(self) -> int:
        """The task's number."""


F = TypeVar("F", bound=AboutTask)


@dataclass(frozen=True, slots=True)
class Condition(Generic[F]):
    """Ask one thing of the facts; the code has its words in `sentences`."""

    code: str
    holds: Callable[[F], bool]
    refusal: type[Refusal] = Refusal


def admit(conditions: Iterable[Condition[F]], facts: F) -> None:
    """Raise the refusal of the first condition that does not hold."""
    for condition in conditions:
        if not condition.holds(facts):
            raise _refused(condition, facts)


def _refused(condition: Condition[F], facts: F) -> Refusal:
    words = WORDS[condition.code]
    names = {"task"} | {name for _, name, _, _ in Formatter().parse(words.why + words.hint) if name}
    said = {name: getattr(facts, name) for name in sorted(names)}
    shown = {name: _shown(value) for name, value in said.items()}
    sentence = f"task {facts.task} {words.why.format(**shown)}"
    return condition.refusal(condition.code, sentence, hint=words.hint.format(**shown), **said)


def _shown(value: object) -> str:
    """Write a fact so that nothing from outside reaches a terminal raw, and no list grows without bound."""
    match value:
        case Enum():
            return str(value.value)
        case tuple():
            return listing(value)
        case str():
            return quote(value)
        case _:
            return str(value)
