"""Open what lies beneath a folder by descriptors: a part at a time, never through a link, never onto another device."""

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from workspace.disk.names import raw

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: were a file replaced by a pipe between the look and the open, the open would wait for a writer.
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
State: TypeAlias = list[int]
_ENTER: Final = stat.S_IRWXU
_DEEPEST: Final = 400  # every level holds a descriptor, and 1,024 is a usual limit


class OtherDeviceError(OSError):
    """Say that a folder lies on another file system than the tree."""


class TooDeepError(OSError):
    """Say that folders are nested deeper than is followed."""


class Folders:
    """Open folders beneath one descriptor; the way to the last one stays open for its neighbours.

    A folder its owner locked is made accessible and gets its mode back on `close`; `unlocked` holds the modes of these.
    """

    def __init__(self, tree: int) -> None:
        self._tree = tree
        self._device = os.fstat(tree).st_dev
        self._way: list[tuple[str, int]] = []
        self._locked: list[tuple[int, int]] = []
        self.unlocked: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, folder: str) -> int:
        """Return the descriptor of a folder; it is this object's and good until the next call."""
        parts = folder.split("/") if folder else []
        if len(parts) > _DEEPEST:
            raise TooDeepError(0, f"nested deeper than {_DEEPEST} folders", folder)
        self._keep(parts)
        for part in parts[len(self._way) :]:
            self._way.append((part, self._enter(part)))
        return self._last

    def close(self) -> None:
        """Close everything and give locked folders their modes back, the deepest first."""
        self._keep([])
        while self._locked:
            descriptor, mode = self._locked.pop()
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, mode)
            os.close(descriptor)

    @property
    def _last(self) -> int:
        return self._way[-1][1] if self._way else self._tree

    def _keep(self, parts: list[str]) -> None:
        shared = 0
        for (name, _), part in zip(self._way, parts, strict=False):
            if name != part:
                break
            shared += 1
        while len(self._way) > shared:
            os.close(self._way.pop()[1])

    def _enter(self, part: str) -> int:
        try:
            descriptor = os.open(raw(part), FOLDER, dir_fd=self._last)
        except PermissionError:
            descriptor = self._unlock(part)
        found = os.fstat(descriptor)
        if found.st_dev != self._device:
            os.close(descriptor)
            raise OtherDeviceError(0, "lies on another file system", part)
        if found.st_mode & _ENTER != _ENTER:
            self._remember(part, descriptor, found.st_mode)
            os.fchmod(descriptor, stat.S_IMODE(found.st_mode) | _ENTER)
        return descriptor

    def _unlock(self, part: str) -> int:
        mode = os.lstat(raw(part), dir_fd=self._last).st_mode
        chmod_at(self._last, part, stat.S_IMODE(mode) | _ENTER)
        descriptor = os.open(raw(part), FOLDER, dir_fd=self._last)
        if mode & _ENTER != _ENTER:  # else another helper was faster, and remembers it
            self._remember(part, descriptor, mode)
        return descriptor

    def _remember(self, part: str, descriptor: int, mode: int) -> None:
        self._locked.append((os.dup(descriptor), stat.S_IMODE(mode)))
        self.unlocked["/".join([*(name for name, _ in self._way), part])] = stat.S_IMODE(mode)


def chmod_at(folder: int, name: str, mode: int) -> None:
    """Change the mode of a name in an open folder, never that of a link's target."""
    os.chmod(raw(name), mode, dir_fd=folder, follow_symlinks=False)


@contextlib.contextmanager
def opened(path: str | bytes | os.PathLike[str], *, folder: int | None = None) -> Iterator[int]:
    """Hold a folder open that is no link."""
    descriptor = os.open(path, FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def accessible(path: "Path") -> Iterator[int]:
    """Hold a folder of ours open, accessible meanwhile even where its owner locked it."""
    mode = stat.S_IMODE(path.lstat().st_mode)
    locked = mode & _ENTER != _ENTER
    if locked:
        path.chmod(mode | _ENTER, follow_symlinks=False)
    with opened(path) as descriptor:
        try:
            yield descriptor
        finally:
            if locked:
                os.fchmod(descriptor, mode)


def folder_signature(entry: os.stat_result) -> State:
    """Name the state of a folder; not by its mode, which a helper may just have changed to look into it."""
    return [entry.st_ino, entry.st_mtime_ns]


def signature(entry: os.stat_result) -> State:
    """Name the state of an entry as far as its inode can tell it."""
    return [entry.st_ino, entry.st_mode, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns]
