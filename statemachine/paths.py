"""Paths inside a repository: their shape, the spellings of `.git`, and when two of them are one file."""

import re
import unicodedata
from typing import Final

_HFS_IGNORES: Final = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF),
)
_GIT: Final = frozenset({".git", "git~1"})
_SENSITIVE: Final = frozenset({".gitattributes", ".gitignore", ".gitmodules"})
_GITMODULES: Final = re.compile(r"\.gitmodules|gitmod~[1-4]|gi7eba~[1-9]")


def is_git_spelling(part: str) -> bool:
    """Tell whether some file system would open one part of a path as `.git`."""
    return any(_as_a_file_system_sees_it(piece) in _GIT for piece in part.split("\\"))


def names_git(path: str) -> bool:
    """Tell whether any part of a path, at any depth, is a spelling of `.git`."""
    return any(is_git_spelling(part) for part in path.split("/"))


def names_gitmodules(path: str) -> bool:
    """Tell whether some file system would open the last part of a path as `.gitmodules`."""
    return _GITMODULES.fullmatch(_as_a_file_system_sees_it(path.rpartition("/")[2])) is not None


def is_sensitive(path: str) -> bool:
    """Tell whether a path steers git itself, and is worth a second look even where it was declared."""
    return _as_a_file_system_sees_it(path.rpartition("/")[2]) in _SENSITIVE or names_gitmodules(path)


def is_canonical(path: str) -> bool:
    """Tell whether a path has no dot segments and no double or trailing slash."""
    parts = path.split("/")
    return not any(part in {".", ".."} for part in parts) and "" not in parts[1:]


def is_inside(path: str) -> bool:
    """Tell whether a canonical path names something in the repository: not empty, not absolute, no NUL."""
    return bool(path) and not path.startswith("/") and "\x00" not in path


def is_utf8(text: str) -> bool:
    """Tell whether a text has no lone surrogates, which stand for bytes that are not UTF-8."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def parents(path: str) -> list[str]:
    """List the folders a path lies in, the nearest first."""
    folders = []
    while "/" in path:
        path = path.rpartition("/")[0]
        folders.append(path)
    return folders


def fold(path: str) -> str:
    """Give two paths one spelling where a file system that folds case and Unicode form has one file for them."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def _as_a_file_system_sees_it(part: str) -> str:
    return part.partition(":")[0].translate(_HFS_IGNORES).lower().rstrip(". ")
