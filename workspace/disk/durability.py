"""Make what was written survive a power cut: git flushes files, but not the folders that name them."""

import os
from pathlib import Path


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
