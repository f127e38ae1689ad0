"""Read a file that lies where an agent could have been: never through a link, never a pipe, never without an end."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from workspace.disk.descriptors import FILE


def open_plainly(path: Path) -> BinaryIO:
    """Open a regular file for reading; raises `OSError` for whatever else lies there."""
    descriptor = os.open(path, FILE)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(0, "it is not a file", str(path))
    return file


def read_plainly(path: Path, limit: int) -> bytes:
    """Read a regular file's first `limit` bytes; raises as `open_plainly`."""
    with open_plainly(path) as file:
        return file.read(limit)
