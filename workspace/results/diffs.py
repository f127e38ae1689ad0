"""Show how two trees differ, whatever their attributes say; what is not text is named, never silently left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from statemachine.texts import quote
from workspace.disk import names
from workspace.repository import git, repositories

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

# One of these in twenty bytes, and nobody would read it as text.
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\f\r"))
_ODD_SHARE: Final = 20
_READABLE: Final = 1 << 20
_PATCH: Final = (
    "diff-tree -r -p --find-renames=100% --full-index --no-ext-diff --no-textconv --no-color --submodule=short"
    " --src-prefix=a/ --dst-prefix=b/"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """Name two trees and where git sees them."""

    git_dir: Path
    base: str
    head: str
    env: Mapping[str, str]
    timeout: timedelta = git.PATIENCE


@dataclass(frozen=True, slots=True)
class _Binary:
    """One path that git would only call binary."""

    path: bytes
    ids: tuple[str, str]


def text(trees: Trees, *, limit: int, notices: Sequence[str] = ()) -> bytes:
    """Write a unified diff of at most `limit` bytes, notices first, each behind `# `; a cut is marked."""
    patch = _patch(trees, (), limit)
    binaries = _binaries(trees) if b"\nBinary files " in patch.output else []
    readable, notes = _sort_out(trees, binaries)
    head = b"".join(_line(note) for note in (*notices, *notes))
    tail = b"".join(_as_text(trees, each, limit) for each in readable)
    return bounded(head + patch.output + tail, limit, cut=patch.cut)


def bounded(whole: bytes, limit: int, *, cut: bool = False) -> bytes:
    """Keep whole lines within `limit` bytes, with a last line that says so where anything is missing."""
    if not cut and len(whole) <= limit:
        return whole
    mark = _line(f"cut here: there is more than {limit} bytes")
    kept = whole[: max(0, limit - len(mark))]
    return kept[: kept.rfind(b"\n") + 1] + mark


def _line(note: str) -> bytes:
    return f"# {note}\n".encode("utf-8", "backslashreplace")


def _patch(trees: Trees, paths: Sequence[bytes], limit: int) -> git.Outcome:
    chosen = ("--text", trees.base, trees.head, "--", *map(names.text, paths)) if paths else (trees.base, trees.head)
    return _ask(trees, *_PATCH.split(), *chosen, limit=limit)


def _ask(trees: Trees, *arguments: str, limit: int = git.OUTPUT, stdin: bytes = b"") -> git.Outcome:
    # Newer gits look up attributes in a tree where there is no work tree; this one has none to find.
    env = {**trees.env, "GIT_ATTR_SOURCE": repositories.EMPTY_TREES[len(trees.base)]}
    call = git.Call(
        arguments=arguments,
        git_dir=trees.git_dir,
        stdin=stdin,
        env=env,
        timeout=trees.timeout,
        limit=limit,
        cut=True,
        durable=False,
    )
    outcome = git.perform(call)
    if outcome.status:
        git.fail(call, outcome.status, outcome.errors)
    return outcome


def _binaries(trees: Trees) -> list[_Binary]:
    asked = ("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-abbrev", trees.base, trees.head)
    fields = _ask(trees, *asked).output.split(b"\0")
    raw = [at for at, field in enumerate(fields) if field.startswith(b":")]
    ids = {fields[at + 1]: fields[at].decode("ascii").split(" ")[2:4] for at in raw}
    paths = [field.removeprefix(b"-\t-\t") for field in fields[2 * len(raw) :] if field.startswith(b"-\t-\t")]
    return [_Binary(path, (ids[path][0], ids[path][1])) for path in paths]


def _sort_out(trees: Trees, binaries: Sequence[_Binary]) -> tuple[list[bytes], list[str]]:
    """Part what a person could read after all from what is only named."""
    sizes = _sizes(trees, binaries)
    small = {each for pair in binaries for each in pair.ids if sizes.get(each, 0) <= _READABLE}
    read = dict(_contents(trees, sorted(small & sizes.keys())))
    readable, notes = [], []
    for each in binaries:
        told = quote(names.text(each.path))
        if all(_is_text(read.get(side)) for side in each.ids if side in sizes):
            readable.append(each.path)
            notes.append(f"{told} holds bytes that are not text; it is shown as text at the end")
        else:
            before, after = (sizes.get(side) for side in each.ids)
            notes.append(f"{told} is binary and not shown: {_told(before)} before, {_told(after)} after")
    return readable, notes


def _told(size: int | None) -> str:
    return "nothing" if size is None else f"{size} bytes"


def _is_text(content: bytes | None) -> bool:
    if content is None:
        return False
    odd = len(content) - len(content.translate(None, _CONTROLS))
    return odd * _ODD_SHARE <= len(content)


def _sizes(trees: Trees, binaries: Iterable[_Binary]) -> dict[str, int]:
    wanted = "".join(f"{side}\n" for each in binaries for side in each.ids if side.strip("0"))
    printed = _ask(trees, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=wanted.encode()).output
    pairs = (line.split() for line in printed.decode("ascii").splitlines())
    return {found: int(size) for found, size in pairs}


def _contents(trees: Trees, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    asked = "".join(f"{each}\n" for each in wanted).encode()
    printed = _ask(trees, "cat-file", "--batch=%(objectname) %(objectsize)", stdin=asked).output
    at = 0
    while (end := printed.find(b"\n", at)) > 0:
        found, size = printed[at:end].decode("ascii").split()
        content = printed[end + 1 : end + 1 + int(size)]
        if len(content) == int(size):  # what was cut off is not called text
            yield found, content
        at = end + 2 + int(size)


def _as_text(trees: Trees, path: bytes, limit: int) -> bytes:
    return _patch(trees, [path], limit).output
