"""Text from outside, made fit for a column, a message or one line of a terminal."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"
_CUT: Final = "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """Hold a text any column can take, and what cleaning did to it."""

    text: str
    replaced: int
    cut: int


def cleaned(text: str, limit: int) -> Cleaned:
    """Replace what no column can hold, keep at most `limit` characters, and count both."""
    stored, replaced = _UNSTORABLE.subn(_REPLACEMENT, text)
    return Cleaned(text=stored[:limit], replaced=replaced, cut=max(0, len(stored) - limit))


def clean(text: str, limit: int) -> str:
    """Make a text storable within `limit` characters; where something was lost, its end says how much."""
    result = cleaned(text, limit)
    if not (result.replaced or result.cut):
        return result.text
    mark = f" [{len(text)} characters, {result.replaced} replaced]"
    return result.text[: limit - len(mark)] + mark if len(mark) < limit else result.text


def quote(text: str, limit: int = 300) -> str:
    """Quote a text as JSON on one line of at most `limit` characters that no terminal can be moved by.

    Uncut, the result is JSON for exactly the text given. Cut, the dots stand outside the quotes.
    """
    return _fit('"', [_escaped(letter, quoted=True) for letter in text[: limit + 1]], '"', limit)


def one_line(text: str, limit: int = 120) -> str:
    """Put a text on one line of at most `limit` characters, for a person to read; not to be parsed back."""
    words = " ".join(text.split())
    return _fit("", [_escaped(letter) for letter in words[: limit + 1]], "", limit)


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural where there is not one: `1 path`, `2 paths`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listing(values: Iterable[object], shown: int = 5) -> str:
    """Name the first few of many, numbers as they are and texts quoted, and count the rest."""
    every = list(values)
    named = [str(value) if isinstance(value, int) else quote(str(value)) for value in every[:shown]]
    rest = len(every) - shown
    return ", ".join(named) + (f" and {rest} more" if rest > 0 else "")


def _escaped(letter: str, *, quoted: bool = False) -> str:
    if letter.isprintable():
        return json.dumps(letter, ensure_ascii=False)[1:-1] if quoted else letter
    return json.dumps(letter, ensure_ascii=True)[1:-1]


def _fit(before: str, letters: list[str], after: str, limit: int) -> str:
    whole = before + "".join(letters) + after
    if len(whole) <= limit:
        return whole
    room = limit - len(before + after + _CUT)
    while letters and sum(map(len, letters)) > room:
        letters.pop()
    return before + "".join(letters) + after + _CUT
