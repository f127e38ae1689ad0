"""Files a person asked for: written new, never over one that is there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from statemachine.refusals import Refusal
from statemachine.texts import quote


@contextmanager
def new(path: Path) -> Iterator[Path]:
    """Give the absolute name of a file to make; refuse one that is taken, and say why a file cannot be made."""
    whole = path.expanduser().absolute()
    named = quote(str(path))
    if os.path.lexists(whole):
        raise Refusal("file_exists", f"{named} is there already", hint="name another file", path=str(whole))
    try:
        yield whole
    except OSError as error:
        raise Refusal(
            "file_unwritable", f"{named} cannot be written: {error.strerror}", hint="name another file", path=str(whole)
        ) from error


def write(path: Path, data: bytes) -> None:
    """Write a file that must not be there yet."""
    with path.open("xb") as file:
        file.write(data)
