"""Write blobs as one undeltified git pack, each from bytes that were read once."""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final, Protocol, TypeAlias

_SIGNATURE: Final = b"PACK" + (2).to_bytes(4, "big")
_BLOB: Final = 3
_FASTEST: Final = 1
_CHUNK: Final = 1 << 20


class Hash(Protocol):
    """What this needs of a hash that hashlib made."""

    def update(self, data: bytes, /) -> None:
        """Take bytes."""

    def digest(self) -> bytes:
        """Return the hash."""
        ...

    def hexdigest(self) -> str:
        """Return the hash in hexadecimal digits."""
        ...


Digest: TypeAlias = Callable[[bytes], Hash]


def digest(algorithm: str) -> Digest:
    """Choose git's hash by the repository's object format."""
    return {"sha1": hashlib.sha1, "sha256": hashlib.sha256}[algorithm]


def blob_header(size: int) -> bytes:
    """Return what git hashes before a blob's bytes."""
    return b"blob %d\0" % size


def blob_id(content: bytes, algorithm: str) -> str:
    """Compute the id git gives a blob."""
    return digest(algorithm)(blob_header(len(content)) + content).hexdigest()


class PackWriter:
    """Collect blobs in a pack file that appears with the first one; owner-only, each blob once."""

    def __init__(self, path: bytes, algorithm: str) -> None:
        self._path = path
        self._digest = digest(algorithm)
        self._file: IO[bytes] | None = None
        self._seen: set[str] = set()

    def add(self, identity: str, size: int, pieces: Iterator[bytes]) -> None:
        """Append a blob whose id is known, piece by piece; one already here is not read again."""
        if identity in self._seen:
            return
        file = self._opened()
        file.write(_entry_header(size))
        squeezed = zlib.compressobj(_FASTEST)
        for piece in pieces:
            file.write(squeezed.compress(piece))
        file.write(squeezed.flush())
        self._seen.add(identity)

    def finish(self) -> int:
        """Seal the pack and return how many blobs it holds; without any there is no file."""
        if self._file is None:
            return 0
        with self._file as file:
            file.seek(len(_SIGNATURE))
            file.write(len(self._seen).to_bytes(4, "big"))
            file.seek(0)
            checksum = self._digest(b"")
            while piece := file.read(_CHUNK):
                checksum.update(piece)
            file.write(checksum.digest())
        self._file = None
        return len(self._seen)

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            self._file = os.fdopen(descriptor, "w+b")
            self._file.write(_SIGNATURE + bytes(4))
        return self._file


def _entry_header(size: int) -> bytes:
    # Three bits of type and four of size, then seven at a time, the lowest first.
    byte, rest = (_BLOB << 4) | (size & 0x0F), size >> 4
    encoded = bytearray()
    while rest:
        encoded.append(byte | 0x80)
        byte, rest = rest & 0x7F, rest >> 7
    encoded.append(byte)
    return bytes(encoded)
