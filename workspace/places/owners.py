"""Give what was just made to the user an agent runs as: nobody else has been there yet."""

import os
from pathlib import Path


def give(place: Path, uid: int, gid: int) -> None:
    """Give a file, or a folder and everything beneath it, away; what a link leads to stays whose it is."""
    for folder, folders, files in os.walk(place):
        for name in (*folders, *files):
            os.chown(Path(folder, name), uid, gid, follow_symlinks=False)
    os.chown(place, uid, gid, follow_symlinks=False)
