"""Evidence: everything a judgement rests on, whole, as JSON that any database stores."""

import re
from collections.abc import Mapping
from typing import Final

from screening.entries import Side

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff\\\\]")

_BYTE: Final = re.compile("[\udc80-\udcff]")


def shown_path(path: str) -> str:
    r"""Write a path so that it can be stored and read back: `\\` is a backslash, `\xff` a byte, `\x00` a NUL."""
    return _UNSTORABLE.sub(_escaped, path)


def stored(value: object) -> object:
    """Make a value of strings, numbers, lists and mappings fit for `jsonb`."""
    match value:
        case str():
            return shown_path(value)
        case Mapping():
            return {shown_path(str(name)): stored(inner) for name, inner in value.items()}
        case list() | tuple():
            return [stored(inner) for inner in value]
        case _:
            return value


def shown_side(what: Side | None) -> dict[str, object] | None:
    """Show one side of a change."""
    if what is None:
        return None
    return {"type": what.type, "mode": what.mode, "id": what.id, "size": what.size, "target": what.target}


def _escaped(match: re.Match[str]) -> str:
    letter = match[0]
    if letter == "\\":
        return "\\\\"
    if _BYTE.fullmatch(letter):
        return f"\\x{letter.encode('utf-8', 'surrogateescape')[0]:02x}"
    return "\\x00" if letter == "\x00" else f"\\u{ord(letter):04x}"
