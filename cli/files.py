"""Files a person asked for: written new, never over one that is there."""

import os
from pathlib import Path

from statemachine.refusals import Refusal
from statemachine.texts import quote


def refuse_existing(path: Path) -> None:
    """Refuse a name that is taken, before anything is made for it."""
    if os.path.lexists(path):
        raise Refusal("file_exists", f"{quote(str(path))} is there already", hint="name another file", path=str(path))


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not be there yet."""
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        refuse_existing(path)
        raise
    except OSError as error:
        raise Refusal(
            "file_unwritable",
            f"{quote(str(path))} cannot be written: {error.strerror}",
            hint="name another file",
            path=str(path),
        ) from error
