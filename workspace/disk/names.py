"""Names in a tree: bytes told as text without loss, and every spelling some checkout takes for `.git`."""

import sys
from typing import Final

LONGEST: Final = 1024
NATIVE: Final = sys.getfilesystemencoding() == "utf-8"
_HFS_IGNORES: Final = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_GIT: Final = frozenset({".git", "git~1"})
_HARMLESS_START: Final = (".", "g", "G", " ")


def text(name: bytes) -> str:
    """Tell a name as text whatever the locale; bytes that are not UTF-8 become lone surrogates."""
    return name.decode("utf-8", "surrogateescape")


def raw(name: str) -> bytes:
    """Give back exactly the bytes that `text` was made from."""
    return name.encode("utf-8", "surrogateescape")


def join(folder: str, name: str) -> str:
    """Join a folder of the tree and a name in it; the tree itself is the empty folder."""
    return f"{folder}/{name}" if folder else name


def spells_git(part: str) -> bool:
    """Tell whether some file system would open `.git` when asked for this part of a path."""
    if part.isascii() and "\\" not in part and not part.startswith(_HARMLESS_START):
        return False
    return any(_bare(piece) in _GIT for piece in part.split("\\"))


def _bare(piece: str) -> str:
    return piece.split(":", 1)[0].translate(_HFS_IGNORES).lower().rstrip(". ")


def folded(path: str) -> str:
    """Reduce a path to what a file system that ignores case and Unicode form would compare."""
    if path.isascii():
        return path.lower()
    import unicodedata  # noqa: PLC0415 - a megabyte of tables that helpers never need

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def leaves_tree(folder: str, target: str) -> bool:
    """Tell from the text alone whether a link in this folder of the tree points out of it."""
    if target.startswith("/"):
        return True
    depth = len(folder.split("/")) if folder else 0
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in {"", "."}:
            depth += 1
        if depth < 0:
            return True
    return False


def fault(path: str) -> str:
    """Say why a path of a base may not be written to a disk; empty where it may."""
    parts = path.split("/")
    if not all(parts) or "\0" in path or not {".", ".."}.isdisjoint(parts):
        return "it is not a plain path"
    return "it spells .git" if any(map(spells_git, parts)) else ""
