"""Values as JSON: times in RFC 3339 and UTC, durations in seconds, nothing a strict reader would refuse."""

import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum


def moment(value: datetime) -> str:
    """Write a time as RFC 3339 in UTC; a time without a zone is a defect and refused."""
    if value.tzinfo is None:
        raise ValueError(f"a time without a zone: {value}")
    return value.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def plain(value: object) -> object:
    """Turn a value into what JSON can say; a name that is not UTF-8 keeps its bytes as visible escapes."""
    match value:
        case Enum():
            return plain(value.value)
        case None | bool() | int() | float():
            return value
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case datetime():
            return moment(value)
        case _:
            return _plain_inside(value)


def _plain_inside(value: object) -> object:
    match value:
        case timedelta():
            return value.total_seconds()
        case bytes():
            return plain(os.fsdecode(value))
        case Mapping():
            return {str(plain(key)): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in (sorted(value, key=str) if isinstance(value, AbstractSet) else value)]
        case _ if is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            return plain(str(value))


def as_json(value: object, *, indent: int | None = None) -> str:
    """Write a value as one JSON document in ASCII, without the line's end."""
    import json  # noqa: PLC0415 - `tasks --help` needs none of it

    return json.dumps(plain(value), indent=indent, allow_nan=False)
