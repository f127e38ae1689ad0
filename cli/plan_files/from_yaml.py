"""Read a YAML 1.2 plan from its events: no alias is ever followed, no tag obeyed, no value guessed."""

import re
from collections.abc import Iterator
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from cli.plan_files.outline import Outline, Position, Unreadable
from statemachine.plans.problems import Where
from statemachine.texts import one_line

_WORDS: Final[dict[str, object]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,18}")
_OTHER_NUMBER: Final = re.compile(
    r"[-+]?(?:[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))"
    r"|\.(?:nan|NaN|NAN)"
)
_NO_NAME: Final = "?"
_NOT_A_COUNT: Final = 0.5
_HINT: Final = "check the indentation, and put values with `:`, `#` or quotes in them in quotes"


def outline_yaml(text: str) -> Outline:
    """Outline a YAML text; the problems are in the outline."""
    outline = Outline()
    try:
        _Reader(outline, _events(text)).whole()
    except Unreadable:
        outline.document = None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        outline.stop((), position, f"is not YAML: {one_line(str(error.problem or error.context))}", _HINT)
        outline.document = None
    except (YAMLError, ValueError) as error:
        outline.stop((), (1, 1), f"is not YAML: {one_line(str(error))}", _HINT)
        outline.document = None
    return outline


def _events(text: str) -> Iterator[Event]:
    events: Iterator[Event] = YAML(typ="safe", pure=True).parse(text)
    return events


class _Reader:
    def __init__(self, outline: Outline, events: Iterator[Event]) -> None:
        self._outline = outline
        self._events = events

    def whole(self) -> None:
        next(self._events)
        start = next(self._events)
        if isinstance(start, DocumentStartEvent):
            self._refuse_directives(start)
            self._outline.document = self._value(next(self._events), (), 1)
            next(self._events)
            start = next(self._events)
        if not isinstance(start, StreamEndEvent):
            self._outline.note((), _position(start), "holds a second document", "write one plan to a file")

    def _refuse_directives(self, start: DocumentStartEvent) -> None:
        if start.version or start.tags:
            self._outline.note((), _position(start), "has a `%` directive", "remove the line; plans are YAML 1.2")

    def _value(self, event: Event, where: Where, depth: int) -> object:
        self._outline.mark(where, _position(event))
        if isinstance(event, NodeEvent):
            self._refuse_marks(event, where)
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(event, where, depth)
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, where, depth)
        return None

    def _sequence(self, start: Event, where: Where, depth: int) -> list[object]:
        self._outline.enter(where, _position(start), depth)
        values: list[object] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            values.append(self._value(event, (*where, len(values)), depth + 1))
        return values

    def _mapping(self, start: Event, where: Where, depth: int) -> dict[str, object]:
        self._outline.enter(where, _position(start), depth)
        values: dict[str, object] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            name = self._key(event, where, depth)
            place = self._outline.key(where, name, _position(event), values)
            values.setdefault(name, self._value(next(self._events), place, depth + 1))
        return values

    def _key(self, event: Event, where: Where, depth: int) -> str:
        if isinstance(event, ScalarEvent):
            self._refuse_marks(event, where)
            return str(event.value)
        self._note(event, (*where, _NO_NAME), "is no field name", "write `name: value`")
        self._value(event, (*where, _NO_NAME), depth + 1)
        return _NO_NAME

    def _refuse_marks(self, event: NodeEvent, where: Where) -> None:
        if isinstance(event, AliasEvent):
            self._note(event, where, "is an alias", "write the value out")
        elif event.anchor is not None:
            self._note(event, where, "has an anchor", "remove the `&` and its name")
        if getattr(event, "tag", None) is not None:
            self._note(event, where, "has a tag", "remove the `!` and its name; quotes make a value text")

    def _note(self, event: Event, where: Where, message: str, hint: str) -> None:
        self._outline.note(where, _position(event), message, hint)


def _scalar(event: ScalarEvent) -> object:
    """Resolve as YAML 1.2 does; numbers other than decimal whole ones have no use here and stay numbers."""
    value = str(event.value)
    if not event.implicit[0]:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if _WHOLE.fullmatch(value):
        return int(value)
    return _NOT_A_COUNT if _OTHER_NUMBER.fullmatch(value) else value


def _position(event: Event) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1
