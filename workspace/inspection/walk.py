"""Walk a tree in a process of its own: `python -I -S walk.py TREE`, jobs on stdin, answers on stdout.

TREE is a descriptor that was inherited. Nothing but the standard library and this folder is imported, so that a
helper starts fast and an environment of the worker's cannot reach it. The end of stdin is the order to leave.
"""

import contextlib
import errno
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

if __name__ == "__main__":
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - pathlib is slow to load

from workspace.disk.descriptors import Folders, TooDeepError
from workspace.disk.names import text
from workspace.inspection import frames, lists, surveys
from workspace.inspection.packs import PackWriter, digest
from workspace.inspection.reads import Expected, Reader
from workspace.inspection.troubles import Reason, TroubleError

_VANISHED: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ESTALE})


class Walker:
    """Do jobs on one tree."""

    def __init__(self, folders: Folders, reader: Reader) -> None:
        self.folders = folders
        self.reader = reader

    def look(self, names: list[tuple[str, dict[str, Expected]]]) -> list[dict[str, Any]]:
        """List folders, but for what is as expected."""
        return [lists.listing(self.folders, name, self.reader, expected) for name, expected in names]

    def survey(self, name: str) -> dict[str, Any]:
        """Sum up one ignored folder."""
        return surveys.survey(self.folders, name)

    def read(self, batches: list[Any]) -> dict[str, Any]:
        """Read entries, folder by folder."""
        for folder, state, entries in batches:
            self.reader.read(folder, state, entries)
        return self.reader.take()

    def finish(self) -> dict[str, int]:
        """Seal the pack and give locked folders their modes back; return those."""
        self.folders.close()
        if self.reader.pack:
            self.reader.pack.finish()
        return self.folders.unlocked


def answer(walker: Walker, order: list[Any]) -> dict[str, Any]:
    """Do one job, and tell what stopped it."""
    job: Callable[..., Any] = getattr(walker, order[0])
    try:
        return {"done": job(*order[1:])}
    except TroubleError as trouble:
        return _trouble(trouble.reason, trouble.path, trouble.detail)
    except TooDeepError as error:
        return _trouble(Reason.too_deep, str(error.filename), str(error.strerror))
    except OSError as error:
        reason = Reason.changed if error.errno in _VANISHED else Reason.unexpected
        return _trouble(reason, _path(error.filename), str(error.strerror))
    except Exception as error:  # noqa: BLE001 - a defect of ours travels as what it is: nothing was inspected
        return _trouble(Reason.unexpected, "", f"{type(error).__name__}: {error}")


def _path(name: object) -> str:
    return text(os.fsencode(name)) if isinstance(name, str | bytes) else ""


def _trouble(reason: Reason, path: str, detail: str) -> dict[str, Any]:
    return {"trouble": [reason.value, path, detail]}


def walker(tree: int, algorithm: str, pack: str | None) -> Walker:
    """Make what does the jobs; `pack` names the file for changed content."""
    folders = Folders(tree)
    writer = PackWriter(os.fsencode(pack), algorithm) if pack else None
    return Walker(folders, Reader(folders, digest(algorithm), writer))


def main(arguments: list[str]) -> int:
    """Serve one worker until it closes the pipe."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    tree, algorithm, pack = int(arguments[0]), arguments[1], arguments[2] or None
    served = walker(tree, algorithm, pack)
    try:
        while (order := frames.receive(sys.stdin.buffer)) is not None:
            sys.stdout.buffer.write(frames.pack(answer(served, order)))
            sys.stdout.buffer.flush()
    finally:
        served.folders.close()
        os.close(tree)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
