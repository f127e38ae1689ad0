"""Make what was written survive a power cut: git flushes files, but not the folders that name them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4


def flush(path: Path) -> None:
    """Flush one file or folder; a link is refused, not followed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_chain(path: Path, top: Path) -> None:
    """Flush a path and every folder above it, up to and with `top`."""
    for step in (path, *path.parents):
        flush(step)
        if step == top:
            return
    raise ValueError(f"{path} does not lie in {top}")


def flush_tree(top: Path) -> None:
    """Flush a folder of our own with everything in it."""
    for folder, _, files in os.walk(top, topdown=False):
        for name in files:
            flush(Path(folder, name))
        flush(Path(folder))


@contextmanager
def appearing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file of mode 0600 that appears under its name whole and flushed, or not at all."""
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        flush(path.parent)
    finally:
        draft.unlink(missing_ok=True)
