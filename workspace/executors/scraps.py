"""Scraps: what lies in an attempt's folder that was needed only while it ran."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from workspace.executors.sandbox import SCRATCH as OF_SANDBOXES
from workspace.places import trash

# Its temporary files, and what was read of its tree, by whomever.
_NAMES: Final = ("tmp", "spool", "attached", "recovered-*", *OF_SANDBOXES)


def scraps(folder: Path) -> list[Path]:
    """List what an attempt's folder holds that nobody comes back for."""
    return [found for name in _NAMES for found in folder.glob(name)]


def clear(folder: Path) -> None:
    """Remove scraps; what cannot be removed stays. Through a link in place of the folder, nothing is touched."""
    if folder.is_symlink():
        return
    for found in scraps(folder):
        with suppress(OSError):
            trash.empty(found)
            found.rmdir()
