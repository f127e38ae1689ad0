"""Durations as people write them: `90s`, `10m`, `2h`, `1h30m`."""

import re
from datetime import timedelta
from typing import Final

_WRITTEN: Final = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,7})s)?")
LONGEST: Final = timedelta(days=30)


def parse_duration(text: str) -> timedelta | None:
    """Read hours, minutes and seconds in that order; None where the text is not a duration."""
    match = _WRITTEN.fullmatch(text)
    if match is None or not text:
        return None
    hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def show_duration(duration: timedelta) -> str:
    """Write a duration of whole seconds the shortest way that `parse_duration` reads back."""
    minutes, seconds = divmod(int(duration.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
