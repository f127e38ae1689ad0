"""Durations on the command line and in settings: `90s`, `10m`, `2h`, `1h30m`."""

from datetime import timedelta
from typing import Final

import click

from statemachine.durations import parse_duration


def duration(text: str) -> timedelta:
    """Read a duration longer than nothing."""
    found = parse_duration(text)
    if not found:
        raise ValueError("wanted a duration such as 90s, 10m, 2h or 1h30m")
    return found


class DurationType(click.ParamType[timedelta]):
    """Take a duration as an option."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read the text of one option."""
        if isinstance(value, timedelta):
            return value
        try:
            return duration(str(value))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


DURATION: Final = DurationType()
