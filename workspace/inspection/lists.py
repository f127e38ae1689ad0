"""List one folder of a tree nobody is trusted about: names, kinds and states; nothing but folders is opened."""

import contextlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from workspace.disk import descriptors
from workspace.disk.descriptors import Folders, OtherDeviceError, folder_signature, signature
from workspace.disk.names import NATIVE, raw, text
from workspace.inspection.reads import Expected, Found, Reader
from workspace.inspection.troubles import Reason, TroubleError

MOST: Final = 200_000
_REPOSITORY: Final = {"HEAD", "objects", "refs"}
_POINTER: Final = b"gitdir:"

Entry: TypeAlias = list[Any]  # name, kind, mode, size, signature, target


def listing(
    folders: Folders, folder: str, reader: Reader | None = None, expected: Mapping[str, Expected] | None = None
) -> dict[str, Any]:
    """List a folder, but for what `reader` can confirm to be as expected; `gone` is what was expected in vain.

    `state` says why there are no entries, `repository` what makes the folder look like one.
    """
    try:
        descriptor = folders.open(folder)
    except PermissionError:
        return _closed(folder, "unreadable")
    except OtherDeviceError:
        return _closed(folder, "foreign")
    except (FileNotFoundError, NotADirectoryError):
        return _closed(folder, "absent")
    state = folder_signature(os.fstat(descriptor))
    found = dict(sorted(scan(descriptor), key=_name))
    wanted = expected or {}
    confirmed = reader.confirmed(descriptor, found, wanted) if reader and wanted else set()
    entries = [_entry(descriptor, name, each) for name, each in found.items() if name not in confirmed]
    if folder_signature(os.fstat(descriptor)) != state:
        raise TroubleError(Reason.changed, folder, "the folder changed while it was listed")
    return {
        "folder": folder,
        "state": "open",
        "signature": state,
        "repository": _repository(descriptor, found),
        "entries": entries,
        "gone": [name for name in wanted if name not in found],
    }


def _closed(folder: str, state: str) -> dict[str, Any]:
    return {"folder": folder, "state": state, "signature": [], "repository": "", "entries": [], "gone": []}


def _name(found: tuple[str, Found]) -> str:
    return found[0]


def _entry(descriptor: int, name: str, listed: Found) -> Entry:
    found = listed.stat(follow_symlinks=False)
    kind = kind_of(found.st_mode)
    target = link_target(descriptor, name) if kind == "link" else None
    return [name, kind, found.st_mode, found.st_size, signature(found), target]


def scan(descriptor: int) -> Iterator[tuple[str, Found]]:
    """Yield each name in an open folder with what was listed there, in no order."""
    with os.scandir(descriptor) as found:
        for count, entry in enumerate(found):
            if count >= MOST:
                raise TroubleError(Reason.too_many, "", f"a folder holds more than {MOST} entries")
            yield entry.name if NATIVE else text(os.fsencode(entry.name)), entry


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


def _repository(descriptor: int, names: Mapping[str, Found]) -> str:
    if ".git" in names and _leads_to_repository(descriptor, _entry(descriptor, ".git", names[".git"])[1]):
        return "nested"
    return "bare" if _bare(names) else ""


def _bare(names: Collection[str]) -> bool:
    return all(name in names for name in _REPOSITORY)


def _leads_to_repository(descriptor: int, kind: str) -> bool:
    if kind == "folder":
        with contextlib.suppress(OSError), descriptors.opened(".git", folder=descriptor) as inner:
            names = {name for name, _ in scan(inner)}
            return _bare(names) or "commondir" in names
        return True  # one that cannot be looked into is taken for the worst
    return kind == "link" or (kind == "file" and _points(descriptor))


def _points(descriptor: int) -> bool:
    try:
        file = os.open(".git", descriptors.FILE, dir_fd=descriptor)
    except OSError:
        return True
    with os.fdopen(file, "rb") as opened:
        return opened.read(len(_POINTER)) == _POINTER
