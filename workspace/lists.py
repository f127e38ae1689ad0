"""List one folder of a tree nobody is trusted about: names, kinds and states; nothing but folders is opened."""

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Any, Final

from workspace import descriptors
from workspace.descriptors import Folders, OtherDeviceError, signature
from workspace.names import raw, text
from workspace.troubles import Reason, TroubleError

MOST: Final = 200_000
_REPOSITORY: Final = {"HEAD", "objects", "refs"}
_POINTER: Final = b"gitdir:"

Entry = list[Any]  # name, kind, mode, size, signature, target


def listing(folders: Folders, folder: str) -> dict[str, Any]:
    """List a folder; `state` says why there are no entries, `repository` what makes it look like one."""
    try:
        descriptor = folders.open(folder)
    except PermissionError:
        return _closed(folder, "unreadable")
    except OtherDeviceError:
        return _closed(folder, "foreign")
    state = signature(os.fstat(descriptor))
    entries = sorted(_entries(descriptor, folder), key=lambda entry: str(entry[0]))
    if signature(os.fstat(descriptor)) != state:
        raise TroubleError(Reason.changed, folder, "the folder changed while it was listed")
    return {
        "folder": folder,
        "state": "open",
        "signature": state,
        "repository": _repository(descriptor, entries),
        "entries": entries,
    }


def _closed(folder: str, state: str) -> dict[str, Any]:
    return {"folder": folder, "state": state, "signature": "", "repository": "", "entries": []}


def _entries(descriptor: int, folder: str) -> Iterator[Entry]:
    for count, (name, found) in enumerate(scan(descriptor)):
        if count >= MOST:
            raise TroubleError(Reason.too_many, folder, f"the folder holds more than {MOST} entries")
        kind = kind_of(found.st_mode)
        target = link_target(descriptor, name) if kind == "link" else None
        yield [name, kind, found.st_mode, found.st_size, signature(found), target]


def scan(descriptor: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each name in an open folder with its own state, in no order."""
    with os.scandir(descriptor) as found:
        for entry in found:
            yield text(os.fsencode(entry.name)), entry.stat(follow_symlinks=False)


def kind_of(mode: int) -> str:
    """Name the kind of an entry; everything that is not ordinary is special."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "special"


def link_target(descriptor: int, name: str) -> str:
    """Read what a link says."""
    return text(os.readlink(raw(name), dir_fd=descriptor))


def _repository(descriptor: int, entries: list[Entry]) -> str:
    kinds = {str(entry[0]): str(entry[1]) for entry in entries}
    if ".git" in kinds and _leads_to_repository(descriptor, kinds[".git"]):
        return "nested"
    bare = kinds.keys() >= _REPOSITORY and kinds["objects"] != "file" and kinds["refs"] != "file"
    return "bare" if bare else ""


def _leads_to_repository(descriptor: int, kind: str) -> bool:
    if kind == "folder":
        with contextlib.suppress(OSError), descriptors.opened(".git", folder=descriptor) as inner:
            names = {name for name, _ in scan(inner)}
            return names >= _REPOSITORY or "commondir" in names
        return True  # one that cannot be looked into is taken for the worst
    return kind == "link" or (kind == "file" and _points(descriptor))


def _points(descriptor: int) -> bool:
    try:
        file = os.open(".git", descriptors.FILE, dir_fd=descriptor)
    except OSError:
        return True
    with os.fdopen(file, "rb") as opened:
        return opened.read(len(_POINTER)) == _POINTER

