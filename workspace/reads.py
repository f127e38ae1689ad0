"""Read every file of a folder once: hash it, and keep the bytes of what is not as it was."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from workspace.descriptors import FILE, Folders, chmod_at, signature
from workspace.names import join, raw, text
from workspace.packs import Digest, PackWriter, blob_header
from workspace.troubles import Reason, TroubleError

HELD: Final = 8 << 20
_CHUNK: Final = 1 << 20
_TOLD: Final = ("user.", "trusted.", "security.capability", "system.posix_acl_")
_NO_ATTRIBUTES: Final = frozenset({errno.ENOTSUP, errno.EPERM, errno.EACCES})


@dataclass(slots=True)
class Reader:
    """Read entries of one tree; `pack` takes what differs, and None keeps nothing."""

    folders: Folders
    digest: Digest
    pack: PackWriter | None
    changed: list[list[Any]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    attributed: list[str] = field(default_factory=list)

    def read(self, folder: str, state: str, entries: list[list[str]]) -> None:
        """Read entries (name, kind, signature, expected id) of a folder that must be as it was listed."""
        descriptor = self.folders.open(folder)
        if signature(os.fstat(descriptor)) != state:
            raise _moved(folder)
        for name, kind, listed, expected in entries:
            if kind == "link":
                self._link(descriptor, join(folder, name), listed, expected)
            else:
                self._file(descriptor, join(folder, name), listed, expected)

    def take(self) -> dict[str, Any]:
        """Return what was found since the last call."""
        found = {"changed": self.changed, "unreadable": self.unreadable, "attributed": self.attributed}
        self.changed, self.unreadable, self.attributed = [], [], []
        return found

    def _link(self, folder: int, path: str, listed: str, expected: str) -> None:
        content = os.readlink(_name(path), dir_fd=folder)
        if signature(os.lstat(_name(path), dir_fd=folder)) != listed:
            raise _moved(path)
        self._compare(path, content, expected, text(content))

    def _file(self, folder: int, path: str, listed: str, expected: str) -> None:
        try:
            descriptor, state = _opened(folder, path, listed)
        except PermissionError:
            self.unreadable.append(path)
            return
        try:
            self._contents(descriptor, path, expected)
            if signature(os.fstat(descriptor)) != state:
                raise _moved(path)
            if _attributed(descriptor):
                self.attributed.append(path)
        finally:
            os.close(descriptor)

    def _contents(self, descriptor: int, path: str, expected: str) -> None:
        size = os.fstat(descriptor).st_size
        if size > HELD:
            self._large(descriptor, path, size, expected)
            return
        content = b"".join(_pieces(descriptor, size))
        if len(content) != size:
            raise _moved(path)
        self._compare(path, content, expected, None)

    def _compare(self, path: str, content: bytes, expected: str, target: str | None) -> None:
        hashed = self.digest(blob_header(len(content)))
        hashed.update(content)
        identity = hashed.hexdigest()
        if identity == expected:
            return
        self.changed.append([path, identity, len(content), target])
        if self.pack:
            self.pack.add(identity, len(content), iter([content]))

    def _large(self, descriptor: int, path: str, size: int, expected: str) -> None:
        identity = self._hash(descriptor, size)
        if identity == expected:
            return
        self.changed.append([path, identity, size, None])
        if self.pack:
            os.lseek(descriptor, 0, os.SEEK_SET)
            self.pack.add(identity, size, self._checked(descriptor, path, size, identity))

    def _hash(self, descriptor: int, size: int) -> str:
        hashed = self.digest(blob_header(size))
        for piece in _pieces(descriptor, size):
            hashed.update(piece)
        return hashed.hexdigest()

    def _checked(self, descriptor: int, path: str, size: int, identity: str) -> Iterator[bytes]:
        hashed = self.digest(blob_header(size))
        for piece in _pieces(descriptor, size):
            hashed.update(piece)
            yield piece
        if hashed.hexdigest() != identity:
            raise _moved(path)


def _name(path: str) -> bytes:
    return raw(path.rpartition("/")[2])


def _opened(folder: int, path: str, listed: str) -> tuple[int, str]:
    """Open a file that must be as it was listed; one its owner locked is opened and locked again."""
    try:
        descriptor, state = os.open(_name(path), FILE, dir_fd=folder), listed
    except PermissionError:
        descriptor, state = _unlocked(folder, path, listed)
    if signature(os.fstat(descriptor)) != state:
        os.close(descriptor)
        raise _moved(path)
    return descriptor, state


def _unlocked(folder: int, path: str, listed: str) -> tuple[int, str]:
    before = os.lstat(_name(path), dir_fd=folder)
    if signature(before) != listed:
        raise _moved(path)
    chmod_at(folder, path.rpartition("/")[2], stat.S_IMODE(before.st_mode) | stat.S_IRUSR)
    descriptor = os.open(_name(path), FILE, dir_fd=folder)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    after = os.fstat(descriptor)
    if (after.st_ino, after.st_size, after.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
        os.close(descriptor)
        raise _moved(path)
    return descriptor, signature(after)


def _pieces(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield a file's bytes, and a byte more where it has grown, so that its reader sees it."""
    left = size + 1
    while left and (piece := os.read(descriptor, min(left, max(_CHUNK, HELD + 1)))):
        left -= len(piece)
        yield piece
        if left == 1:  # all that was announced; the state after the read tells whether there is more
            return


def _attributed(descriptor: int) -> bool:
    if not hasattr(os, "listxattr"):
        return False
    with contextlib.suppress(OSError):
        return any(name.startswith(_TOLD) for name in os.listxattr(descriptor))
    return False


def _moved(path: str) -> TroubleError:
    return TroubleError(Reason.changed, path, "it changed while it was read")
