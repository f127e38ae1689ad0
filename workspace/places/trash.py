"""Remove a folder nobody is trusted about: by descriptors, through no link, onto no other device, as far as it goes."""

import contextlib
import itertools
import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from workspace.disk import descriptors
from workspace.disk.descriptors import FOLDER, chmod_at
from workspace.disk.names import join, text

_AT_ONCE: Final = 10_000
_TOLD: Final = 100
_MOUNTS: Final = Path("/proc/self/mountinfo")


def mounts_beneath(folder: Path) -> list[str]:
    """List what is mounted on a folder or beneath it; a mount of the same file system has no device of its own."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return []  # no such list on this system; the device of each folder is looked at all the same
    points = [line.split()[4].decode("unicode_escape").encode("latin-1") for line in lines]
    top = os.fsencode(folder.resolve())
    return [os.fsdecode(point) for point in points if point == top or point.startswith(top + b"/")]


def empty(container: Path) -> list[str]:
    """Remove everything in a folder of ours, and say what could not be removed, with the reason."""
    with descriptors.opened(container) as opened:
        emptying = _Emptying(opened, os.fstat(opened).st_dev)
        emptying.run()
    rest = len(emptying.left) - _TOLD
    return emptying.left[:_TOLD] + [f"and {rest} more"] * (rest > 0)


@dataclass(slots=True)
class _Emptying:
    """Flatten while removing: folders move up beside each other, so depth costs neither stack nor descriptors."""

    container: int
    device: int
    left: list[str] = field(default_factory=list)
    waiting: deque[tuple[str, str]] = field(default_factory=deque)

    def run(self) -> None:
        self._clear(self.container, "")
        while self.waiting:
            name, path = self.waiting.popleft()
            with self._telling(path):
                self._remove(name, path)

    def _remove(self, name: str, path: str) -> None:
        _make_accessible(self.container, name)
        opened = os.open(name, FOLDER, dir_fd=self.container)
        try:
            if os.fstat(opened).st_dev != self.device:
                raise OSError(0, "lies on another file system")
            self._clear(opened, path)
        finally:
            os.close(opened)
        os.rmdir(name, dir_fd=self.container)

    def _clear(self, folder: int, path: str) -> None:
        tried: set[str] = set()
        while names := _some(folder, tried):
            tried.update(names)
            for name in names:
                with self._telling(join(path, text(os.fsencode(name)))):
                    self._take(folder, name, join(path, text(os.fsencode(name))))

    def _take(self, folder: int, name: str, path: str) -> None:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            os.unlink(name, dir_fd=folder)
            return
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=folder)
            return
        if folder == self.container:
            self.waiting.append((name, ""))  # a workspace that was thrown here; its content is told by its own paths
            return
        _make_accessible(folder, name)
        fresh = uuid4().hex
        os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=self.container)
        self.waiting.append((fresh, path))

    @contextlib.contextmanager
    def _telling(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            return
        except OSError as error:
            self.left.append(f"{path}: {error.strerror}")


def _some(folder: int, tried: set[str]) -> list[str]:
    with os.scandir(folder) as found:
        return list(itertools.islice((entry.name for entry in found if entry.name not in tried), _AT_ONCE))


def _make_accessible(folder: int, name: str) -> None:
    mode = os.lstat(name, dir_fd=folder).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        chmod_at(folder, text(os.fsencode(name)), stat.S_IMODE(mode) | stat.S_IRWXU)
