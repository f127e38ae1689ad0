"""Read a JSON plan strictly: no duplicate keys, no NaN, one document, and a line for every complaint."""

import json
import re
from bisect import bisect_right
from typing import Final

from cli.plan_files.outline import Outline, Position, Unreadable
from statemachine.plans.problems import Where
from statemachine.texts import quote

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![0-9.A-Za-z])")
_WORD: Final = re.compile(r"[-+]?[A-Za-z]+")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}
_LONGEST_WHOLE: Final = 18
_HINT: Final = 'JSON wants `"name": value` pairs and commas between them, without comments'


def outline_json(text: str) -> Outline:
    """Outline a JSON text; the problems are in the outline."""
    reader = _Reader(text)
    try:
        reader.whole()
    except Unreadable:
        reader.outline.document = None
    return reader.outline


class _Reader:
    def __init__(self, text: str) -> None:
        self.outline = Outline()
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def whole(self) -> None:
        self.outline.document = self._value((), 1)
        self._skip()
        if self._at < len(self._text):
            raise self._unexpected((), "the document goes on after its end")

    def _value(self, where: Where, depth: int) -> object:
        self._skip()
        self.outline.mark(where, self._position())
        match self._text[self._at : self._at + 1]:
            case "{":
                return self._mapping(where, depth)
            case "[":
                return self._sequence(where, depth)
            case '"':
                return self._string(where)
            case _:
                return self._number_or_word(where)

    def _mapping(self, where: Where, depth: int) -> dict[str, object]:
        self.outline.enter(where, self._position(), depth)
        values: dict[str, object] = {}
        more = self._opens("}")
        while more:
            self._skip()
            position = self._position()
            name = self._string(where)
            place = self.outline.key(where, name, position, values)
            self._expect(":", place)
            values.setdefault(name, self._value(place, depth + 1))
            more = self._goes_on("}", place)
        return values

    def _sequence(self, where: Where, depth: int) -> list[object]:
        self.outline.enter(where, self._position(), depth)
        values: list[object] = []
        more = self._opens("]")
        while more:
            values.append(self._value((*where, len(values)), depth + 1))
            more = self._goes_on("]", where)
        return values

    def _string(self, where: Where) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._unexpected(where, "a text in double quotes is wanted here, or its quotes do not close")
        self._at = match.end()
        return str(json.loads(match[0]))

    def _number_or_word(self, where: Where) -> object:
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            is_whole = number[1] is None and number[2] is None and len(number[0]) <= _LONGEST_WHOLE
            return int(number[0]) if is_whole else float(number[0])
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            found = quote(word[0] if word else self._text[self._at : self._at + 1], 40)
            raise self._unexpected(
                where, f"{found} is no JSON value" if self._at < len(self._text) else "text ends early"
            )
        self._at = word.end()
        return _WORDS[word[0]]

    def _opens(self, end: str) -> bool:
        """Step over the opening bracket; gives whether anything stands before the closing one."""
        self._at += 1
        self._skip()
        if not self._text.startswith(end, self._at):
            return True
        self._at += 1
        return False

    def _goes_on(self, end: str, where: Where) -> bool:
        self._skip()
        if self._text.startswith(end, self._at):
            self._at += 1
            return False
        self._expect(",", where)
        return True

    def _expect(self, mark: str, where: Where) -> None:
        self._skip()
        if not self._text.startswith(mark, self._at):
            raise self._unexpected(where, f"`{mark}` is wanted here")
        self._at += 1

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _position(self) -> Position:
        line = bisect_right(self._lines, self._at)
        return line, self._at - self._lines[line - 1] + 1

    def _unexpected(self, where: Where, message: str) -> Unreadable:
        return self.outline.stop(where, self._position(), message, _HINT)
