"""Where an embedded server lives.

Started by root it runs as a system user, who must be able to pass; no folder is opened for that user:
a state folder behind closed doors gets a server folder outside of it, and a link that leads there.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from statemachine.refusals import Unavailable

SYSTEM_STATE: Final = Path("/var/lib/weighlock")

_PASSABLE: Final = 0o001


def home_of(state: Path) -> Path:
    """Make or find the folder of the embedded server of `state`."""
    try:
        return _shared(state) if os.geteuid() == 0 else _own(state)
    except OSError as error:
        raise Unavailable(
            "embedded_no_room",
            f"no folder for the embedded server can be made under {state}: {error.strerror}",
            hint="choose another state folder, or name a server with TASKS_DATABASE_URL",
        ) from error


def passable(folder: Path) -> bool:
    """Tell whether any user may pass through the folder and all above it."""
    resolved = folder.resolve()
    return all(part.stat().st_mode & _PASSABLE for part in (resolved, *resolved.parents))


def _own(state: Path) -> Path:
    home = state / "postgres"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home.resolve()


def _shared(state: Path) -> Path:
    link = state / "postgres"
    if not state.exists():
        state.mkdir(mode=0o711, parents=True, exist_ok=True)
        state.chmod(0o711)
    if not link.is_symlink() and not link.is_dir() and not passable(state):
        digest = hashlib.sha256(os.fsencode(state.resolve())).hexdigest()[:12]
        with suppress(FileExistsError):
            link.symlink_to(SYSTEM_STATE / f"postgres-{digest}")
    home = link.resolve()
    if not home.exists():
        home.mkdir(mode=0o711, parents=True, exist_ok=True)
        home.chmod(0o711)  # the caller's umask cuts what mkdir asks for
    return home
