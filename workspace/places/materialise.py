"""Write a commit's tree: raw bytes whatever attributes say, by descriptors, through no link, over nothing."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, NoReturn

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.disk import descriptors
from workspace.disk.descriptors import Folders
from workspace.disk.names import fault, raw, text
from workspace.inspection import trees
from workspace.inspection.packs import Digest, blob_header, digest
from workspace.repository import git
from workspace.repository.blobs import Blob, blobs
from workspace.repository.repositories import RunnerRepository, listing

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE: Final = 0o755
_FILE_MODES: Final = {trees.FILE: 0o644, trees.PROGRAM: 0o755}
_UNFIT: Final = frozenset(
    {errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.ELOOP}
)
_AGO: Final = 10 * 10**9  # nanoseconds


def materialise(repo: RunnerRepository, commit: str, folder: Path, *, patience: timedelta = git.PATIENCE) -> None:
    """Write the tree into a folder that is absent or empty; submodules become empty folders.

    What a failure leaves behind is the caller's to release.

    Raises:
        Refusal: `base_unfit` where the commit holds a path that must not be written; `materialise_failed`.
    """
    modes = {text(path): (trees.plain_mode(entry.mode), entry.id) for path, entry in listing(repo, commit).items()}
    for path in modes:
        if why := fault(path):
            _unfit(path, why)
    files = {path: identity for path, (mode, identity) in modes.items() if mode != trees.GITLINK}
    with _written(folder), _empty(folder) as top, Folders(top) as folders:
        writer = _Writer(folders, digest(repo.object_format))
        for path in modes.keys() - files.keys():
            writer.make_folder(path)
        for path, blob in zip(files, blobs(repo, list(files.values()), patience), strict=True):
            writer.write(path, modes[path][0], blob)


@dataclass(slots=True)
class _Writer:
    """Write beneath one open folder; times lie a little back, so that an index made next can trust them."""

    folders: Folders
    digest: Digest
    made: set[str] = field(default_factory=lambda: {""})
    written_at: int = field(default_factory=lambda: time.time_ns() - _AGO)

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it."""
        if path in self.made:
            return
        above, _, name = path.rpartition("/")
        self.make_folder(above)
        with _fitting(path):
            os.mkdir(raw(name), _FOLDER_MODE, dir_fd=self.folders.open(above))
        self.made.add(path)

    def write(self, path: str, mode: str, blob: Blob) -> None:
        """Write one file or link, and refuse bytes that are not what their id says."""
        above, _, name = path.rpartition("/")
        self.make_folder(above)
        place, hashed = self.folders.open(above), self.digest(blob_header(blob.size))
        with _fitting(path):
            if mode == trees.LINK:
                target = b"".join(blob.pieces())
                hashed.update(target)
                os.symlink(target, raw(name), dir_fd=place)
            else:
                descriptor = os.open(raw(name), _NEW, _FILE_MODES[mode], dir_fd=place)
                try:
                    for piece in blob.pieces():
                        hashed.update(piece)
                        _write_all(descriptor, piece)
                    os.utime(descriptor, ns=(self.written_at, self.written_at))
                finally:
                    os.close(descriptor)
        if hashed.hexdigest() != blob.id:
            _unfit(path, f"the runner repository holds other bytes than {blob.id}")


def _write_all(descriptor: int, piece: bytes) -> None:
    written = os.write(descriptor, piece)
    while written < len(piece):
        written += os.write(descriptor, piece[written:])


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refusal(
            "materialise_failed",
            f"the tree could not be written to {folder}: {quote(str(error))}",
            hint="make room or repair the root, then retry",
            folder=str(folder),
        ) from error


@contextlib.contextmanager
def _empty(folder: Path) -> Iterator[int]:
    folder.mkdir(mode=0o700, exist_ok=True)
    with descriptors.opened(folder) as top:
        with os.scandir(top) as found:
            if next(found, None) is not None:
                raise FileExistsError(0, "the folder is not empty", str(folder))
        yield top


@contextlib.contextmanager
def _fitting(path: str) -> Iterator[None]:
    """Tell an entry that no disk can hold from a disk that is in trouble."""
    try:
        yield
    except ValueError as error:  # a NUL in a link
        _unfit(path, str(error))
    except OSError as error:
        if error.errno not in _UNFIT:
            raise
        _unfit(path, str(error.strerror))


def _unfit(path: str, why: str) -> NoReturn:
    raise Refusal(
        "base_unfit",
        f"the base holds {quote(path)}, which cannot be written: {quote(why)}",
        hint="choose a base without it",
        path=path,
    )
