"""Say what a pack holds from its index and its own headers, without a process."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"
_FANOUT: Final = 256 * 4
_TYPES: Final = {1: "commit", 2: "tree", 3: "blob", 4: "tag", 6: "delta", 7: "delta"}
_FAR: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Packed:
    """Hold type and size of one object of a pack, as its header says them."""

    type: str
    size: int


def read(pack: Path, *, id_length: int) -> dict[str, Packed]:
    """List a pack that git has indexed and checked; `id_length` counts bytes."""
    index = pack.with_suffix(".idx").read_bytes()
    if not index.startswith(_MAGIC):
        raise ValueError(f"{pack} has an index of another version")
    names = len(_MAGIC) + _FANOUT
    (count,) = struct.unpack_from(">I", index, names - 4)
    offsets = names + count * (id_length + 4)
    with pack.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return {
            index[names + each * id_length : names + (each + 1) * id_length].hex(): _header(
                content, _offset(index, offsets, each, count)
            )
            for each in range(count)
        }


def _offset(index: bytes, offsets: int, each: int, count: int) -> int:
    (near,) = struct.unpack_from(">I", index, offsets + 4 * each)
    if near < _FAR:
        return int(near)
    (far,) = struct.unpack_from(">Q", index, offsets + 4 * count + 8 * (near - _FAR))
    return int(far)


def _header(content: mmap.mmap, at: int) -> Packed:
    byte = content[at]
    kind, size, shift = (byte >> 4) & 0x07, byte & 0x0F, 4
    while byte & 0x80:
        at += 1
        byte = content[at]
        size |= (byte & 0x7F) << shift
        shift += 7
    return Packed(_TYPES.get(kind, "unknown"), size)
