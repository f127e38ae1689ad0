"""Read files once: hash them, and keep the bytes of what is not as it was."""

import errno
import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from workspace.disk.descriptors import FILE, Folders, State, chmod_at, folder_signature, signature
from workspace.disk.names import join, raw, text
from workspace.inspection.packs import Digest, PackWriter, blob_header
from workspace.inspection.troubles import Reason, TroubleError

HELD: Final = 8 << 20
_CHUNK: Final = 1 << 20
_AT_ONCE: Final = 512
_ATTRIBUTES: Final = ("user.", "trusted.", "security.capability", "system.posix_acl_")
_SILENT: Final = frozenset({errno.ENOTSUP, errno.EPERM, errno.EACCES})
_READABLE: Final = stat.S_IFREG | stat.S_IRUSR
_TOLD_BITS: Final = ~0o777 | stat.S_IRUSR | stat.S_IXUSR
_EXPECTED_BITS: Final = {"100644": _READABLE, "100755": _READABLE | stat.S_IXUSR, "160000": -1}

Found: TypeAlias = "os.DirEntry[str]"
Expected: TypeAlias = tuple[str, int, str]  # mode in git, size, id


class Reader:
    """Read entries of one tree; `pack` takes what differs, and None keeps nothing."""

    def __init__(self, folders: Folders, digest: Digest, pack: PackWriter | None) -> None:
        self.folders = folders
        self.digest = digest
        self.pack = pack
        self.changed: list[list[Any]] = []
        self.unreadable: list[str] = []
        self.attributed: list[str] = []

    def confirmed(self, folder: int, listed: Mapping[str, Found], expected: Mapping[str, Expected]) -> set[str]:
        """Return names just listed that are, by their bytes, exactly what is expected; some are left for later."""
        some = itertools.islice((name for name in listed if name in expected), _AT_ONCE)
        return {name for name in some if self._confirms(folder, name, listed[name], expected[name])}

    def _confirms(self, folder: int, name: str, listed: Found, expected: Expected) -> bool:
        mode, size, identity = expected
        if mode == "120000":
            return listed.is_symlink() and self._identify(os.readlink(raw(name), dir_fd=folder)) == identity
        if size > HELD or not listed.is_file(follow_symlinks=False):
            return False
        try:
            descriptor = os.open(raw(name), FILE, dir_fd=folder)
        except OSError:
            return False
        try:
            found = os.fstat(descriptor)
            if found.st_size != size or found.st_mode & _TOLD_BITS != _EXPECTED_BITS[mode]:
                return False
            # No look at it after the read: bytes of the expected id are what was expected.
            content = os.read(descriptor, size + 1)
            return len(content) == size and self._identify(content) == identity and not _attributed(descriptor)
        finally:
            os.close(descriptor)

    def read(self, folder: str, state: State, entries: list[tuple[str, str, State, str]]) -> None:
        """Read entries (name, kind, state, expected id) of a folder that must be as it was listed."""
        descriptor = self.folders.open(folder)
        if folder_signature(os.fstat(descriptor)) != state:
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

    def _link(self, folder: int, path: str, listed: State, expected: str) -> None:
        content = os.readlink(_name(path), dir_fd=folder)
        if signature(os.lstat(_name(path), dir_fd=folder)) != listed:
            raise _moved(path)
        self._compare(path, content, expected, text(content))

    def _file(self, folder: int, path: str, listed: State, expected: str) -> None:
        try:
            descriptor, state = _opened(folder, path, listed)
        except PermissionError:
            self.unreadable.append(path)
            return
        try:
            self._contents(descriptor, path, state, expected)
            if _attributed(descriptor):
                self.attributed.append(path)
        finally:
            os.close(descriptor)

    def _contents(self, descriptor: int, path: str, state: State, expected: str) -> None:
        size = state[2]
        if size > HELD:
            self._large(descriptor, path, size, expected)
            if signature(os.fstat(descriptor)) != state:
                raise _moved(path)
        else:
            content = _small(descriptor, state)
            if content is None:
                raise _moved(path)
            self._compare(path, content, expected, None)

    def _identify(self, content: bytes) -> str:
        return self.digest(blob_header(len(content)) + content).hexdigest()

    def _compare(self, path: str, content: bytes, expected: str, target: str | None) -> None:
        identity = self._identify(content)
        if identity == expected:
            return
        self.changed.append([path, identity, len(content), target])
        if self.pack:
            self.pack.add(identity, len(content), iter([content]))

    def _large(self, descriptor: int, path: str, size: int, expected: str) -> None:
        hashed = self.digest(blob_header(size))
        for piece in _pieces(descriptor, size):
            hashed.update(piece)
        identity = hashed.hexdigest()
        if identity == expected:
            return
        self.changed.append([path, identity, size, None])
        if self.pack:
            os.lseek(descriptor, 0, os.SEEK_SET)
            self.pack.add(identity, size, self._checked(descriptor, path, size, identity))

    def _checked(self, descriptor: int, path: str, size: int, identity: str) -> Iterator[bytes]:
        hashed = self.digest(blob_header(size))
        for piece in _pieces(descriptor, size):
            hashed.update(piece)
            yield piece
        if hashed.hexdigest() != identity:
            raise _moved(path)


def _name(path: str) -> bytes:
    return raw(path.rpartition("/")[2])


def _opened(folder: int, path: str, listed: State) -> tuple[int, State]:
    """Open a file that must be as it was listed; one its owner locked is opened and locked again."""
    try:
        return os.open(_name(path), FILE, dir_fd=folder), listed
    except PermissionError:
        return _unlocked(folder, path, listed)


def _unlocked(folder: int, path: str, listed: State) -> tuple[int, State]:
    before = os.lstat(_name(path), dir_fd=folder)
    if signature(before) != listed:
        raise _moved(path)
    chmod_at(folder, path.rpartition("/")[2], stat.S_IMODE(before.st_mode) | stat.S_IRUSR)
    descriptor = os.open(_name(path), FILE, dir_fd=folder)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    state = signature(os.fstat(descriptor))
    if state[:-1] != listed[:-1]:  # all but the time of the last change, which was ours
        os.close(descriptor)
        raise _moved(path)
    return descriptor, state


def _small(descriptor: int, state: State) -> bytes | None:
    """Read a whole file that is, before and after, in the state given; None where it is not."""
    if signature(os.fstat(descriptor)) != state:
        return None
    content = os.read(descriptor, state[2] + 1)
    while 0 < len(content) < state[2] and (piece := os.read(descriptor, state[2] + 1 - len(content))):
        content += piece
    return content if len(content) == state[2] and signature(os.fstat(descriptor)) == state else None


def _pieces(descriptor: int, size: int) -> Iterator[bytes]:
    left = size
    while left and (piece := os.read(descriptor, min(left, _CHUNK))):
        left -= len(piece)
        yield piece


def _attributed(descriptor: int) -> bool:
    if not hasattr(os, "listxattr"):
        return False
    try:
        names = os.listxattr(descriptor)
        return bool(names) and any(name.startswith(_ATTRIBUTES) for name in names)
    except OSError as error:
        return error.errno not in _SILENT


def _moved(path: str) -> TroubleError:
    return TroubleError(Reason.changed, path, "it changed while it was read")
