"""Write the index of a fresh work tree, with stat data, so that the agent's own git finds it clean at once."""

import os
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from workspace.disk import descriptors
from workspace.disk.descriptors import Folders
from workspace.disk.names import raw, text
from workspace.inspection import trees
from workspace.inspection.packs import digest
from workspace.repository.repositories import Entry

_HEADER: Final = struct.Struct(">4sII")
_STAT: Final = struct.Struct(">10I")
_VERSION: Final = 2
_LONGEST_NAME: Final = 0xFFF
_WORD: Final = 0xFFFFFFFF
_ALIGNED: Final = 8


def write_index(tree: Path, entries: Mapping[bytes, Entry], place: Path, algorithm: str) -> None:
    """Write an index that says the tree is exactly these entries; it must be, nothing is read."""
    hashed = digest(algorithm)(b"")
    with place.open("xb") as file:
        for piece in _pieces(tree, dict(sorted(entries.items()))):
            hashed.update(piece)
            file.write(piece)
        file.write(hashed.digest())


def _pieces(tree: Path, entries: Mapping[bytes, Entry]) -> Iterator[bytes]:
    yield _HEADER.pack(b"DIRC", _VERSION, len(entries))
    with descriptors.opened(tree) as top, Folders(top) as folders:
        for path, entry in entries.items():
            folder, _, name = text(path).rpartition("/")
            yield _entry(path, entry, os.lstat(raw(name), dir_fd=folders.open(folder)))


def _entry(path: bytes, entry: Entry, found: os.stat_result) -> bytes:
    mode = int(trees.plain_mode(entry.mode), 8)
    fields = (
        *divmod(found.st_ctime_ns, 10**9),
        *divmod(found.st_mtime_ns, 10**9),
        found.st_dev,
        found.st_ino,
        mode,
        found.st_uid,
        found.st_gid,
        0 if stat.S_ISDIR(found.st_mode) else found.st_size,
    )
    about = _STAT.pack(*(number & _WORD for number in fields)) + bytes.fromhex(entry.id)
    line = about + min(len(path), _LONGEST_NAME).to_bytes(2, "big") + path
    return line + bytes(_ALIGNED - len(line) % _ALIGNED)
