"""Turn a judged manifest into a tree, and prove that the tree is the manifest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.disk import names
from workspace.repository import git, packlists, repositories

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from workspace.repository.packlists import Packed
    from workspace.repository.quarantines import Quarantine

_MODES: Final = {"file": ("100644", "100755"), "symlink": ("120000",)}
_SHOWN: Final = 5
_SLACK: Final = 1 << 20  # bytes a pack may have beyond what its blobs have


class CommitRefused(Refusal):
    """Tell that what was judged and what git would commit are not the same; nothing was committed."""

    def __init__(self, why: str, paths: Collection[bytes | str] = ()) -> None:
        shown = sorted(quote(names.text(path) if isinstance(path, bytes) else path) for path in paths)
        listed = f": {', '.join(shown[:_SHOWN])}" if shown else ""
        super().__init__(
            "commit_refused",
            f"nothing was committed: {why}{listed}",
            hint="look at the evidence; the tree is kept",
            reason=why,
            paths=shown[:_SHOWN],
            count=len(shown),
        )


@dataclass(frozen=True, slots=True)
class Leaf:
    """Hold what stands at a path of a tree; the size is known of what was read, not of what git lists."""

    mode: str
    id: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Edit:
    """Say what stood at one path and what shall stand there; None is nothing."""

    old: Leaf | None
    new: Leaf | None


Edits = dict[bytes, Edit]


def read(manifest: Mapping[str, Any]) -> Edits:
    """Read the changes to be committed, path by path; a rename is a delete and an add, an ignored one is none.

    Raises:
        CommitRefused: where one is of another kind than files and links have, or a path comes twice.
    """
    found: Edits = {}
    for change in manifest["changes"]:
        for path, edit in () if change["ignored"] else parts(change):
            if path in found:
                raise CommitRefused("a path is changed twice", [path])
            found[path] = edit
    return found


def parts(change: Mapping[str, Any]) -> Iterator[tuple[bytes, Edit]]:
    """Read one change of a manifest."""
    path = names.raw(change["path"])
    old, new = _leaf(change["old"], path), _leaf(change["new"], path)
    match change["kind"]:
        case "rename" if old and new:
            yield names.raw(change["old_path"]), Edit(old, None)
            yield path, Edit(None, new)
        case "add" if new and not old:
            yield path, Edit(None, new)
        case "delete" if old and not new:
            yield path, Edit(old, None)
        case "modify" | "mode" | "type" if old and new and old != new:
            yield path, Edit(old, new)
        case _:
            _unfit(change["kind"], path)


def load(room: Quarantine, spool: Path, *, limit: int | None = None) -> dict[str, Packed]:
    """Bring the blobs of a spool into the quarantine and list them; `limit` bounds the bytes of one pack.

    Raises:
        CommitRefused: where a pack is not what git takes for one.
    """
    held: dict[str, Packed] = {}
    for pack in sorted(spool.glob("blobs-*.pack")):
        held |= _index(room, pack, pack.stat().st_size if limit is None else limit)
    return held


def load_exactly(room: Quarantine, spool: Path, wanted: Edits) -> None:
    """Bring the judged blobs into the quarantine: those the manifest names, of the sizes it names, no others.

    Raises:
        CommitRefused: where the spool holds anything else, or a blob is nowhere.
    """
    sizes = {edit.new.id: edit.new.size for edit in wanted.values() if edit.new}
    held = load(room, spool, limit=sum(sizes.values()) + _SLACK + 64 * len(sizes))
    if extra := held.keys() - sizes.keys():
        raise CommitRefused("the spool holds objects that nobody judged", extra)
    if other := [each for each, packed in held.items() if packed != packlists.Packed("blob", sizes[each])]:
        raise CommitRefused("the spool holds an object that is not the judged blob", other)
    if missing := absent(room, wanted, held):
        raise CommitRefused("the spool lacks blobs that were judged", missing)


def absent(room: Quarantine, wanted: Edits, held: Mapping[str, Packed]) -> set[str]:
    """Name the blobs that neither the spool nor the repository has; what only changes its mode needs no copy."""
    lacking = {edit.new.id for edit in wanted.values() if edit.new} - held.keys()
    return lacking - repositories.present(room.repo, sorted(lacking)) if lacking else set()


def build(room: Quarantine, base: str, wanted: Edits) -> str:
    """Write the tree that the edits make of `base`, in a private index.

    Raises:
        CommitRefused: where git would not take a path, which it may tell on stderr alone, with exit 0.
    """
    room.run("read-tree", base)
    outcome = git.perform(room.call("update-index", "-z", "--index-info", stdin=b"".join(_lines(room, wanted))))
    if outcome.status or outcome.errors.strip():
        raise CommitRefused(f"git would not take every path ({quote(outcome.errors.strip())})")
    try:
        return room.run("write-tree").decode("ascii").strip()
    except git.GitFailed as error:
        raise _judged(error, "the tree") from error


def prove(room: Quarantine, base: str, tree: str, wanted: Edits) -> None:
    """Refuse a tree that differs from `base` in anything but exactly the edits."""
    found = differences(room, base, tree)
    stated = {path: Edit(_bare(edit.old), _bare(edit.new)) for path, edit in wanted.items()}
    if wrong := [path for path in found.keys() | stated.keys() if found.get(path) != stated.get(path)]:
        raise CommitRefused("the tree is not what was judged", wrong)


def differences(room: Quarantine, base: str, tree: str) -> Edits:
    """Read how two trees differ, path by path, renames not guessed at."""
    printed = room.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, tree)
    fields = printed.split(b"\0")
    return dict(map(_difference, fields[0:-1:2], fields[1::2]))


def _leaf(side: Mapping[str, Any] | None, path: bytes) -> Leaf | None:
    if side is None:
        return None
    if side["mode"] not in _MODES.get(side["type"], ()) or not re.fullmatch(r"[0-9a-f]{40,64}", side["id"] or ""):
        _unfit(side["type"], path)
    return Leaf(side["mode"], side["id"], side["size"])


def _unfit(what: object, path: bytes) -> NoReturn:
    raise CommitRefused(f"a change of this kind cannot be committed ({quote(str(what), 40)})", [path])


def _index(room: Quarantine, pack: Path, limit: int) -> dict[str, Packed]:
    try:
        printed = room.run("index-pack", "--stdin", "--strict", f"--max-input-size={limit}", stdin=pack)
    except git.GitFailed as error:
        raise _judged(error, pack.name) from error
    stored = room.objects / "pack" / f"pack-{printed.decode('ascii').split()[-1]}.pack"
    return packlists.read(stored, id_length=len(room.repo.nothing) // 2)


def _judged(error: git.GitFailed, what: str) -> Refusal:
    """Tell git's verdict on what it was given from a bound that was broken, which says nothing about it."""
    return CommitRefused(f"git would not take {what} ({error.message})") if error.code == "git_failed" else error


def _lines(room: Quarantine, wanted: Edits) -> Iterator[bytes]:
    """Removals first, so that a file can make room for a folder of its name and the other way round."""
    for path, edit in wanted.items():
        if edit.new is None:
            yield b"0 %s\t%s\0" % (room.repo.nothing.encode(), path)
    for path, edit in wanted.items():
        if edit.new is not None:
            yield b"%s %s\t%s\0" % (edit.new.mode.encode(), edit.new.id.encode(), path)


def _difference(about: bytes, path: bytes) -> tuple[bytes, Edit]:
    old_mode, new_mode, old, new, _ = about.decode("ascii").removeprefix(":").split(" ")
    return path, Edit(_stands(old_mode, old), _stands(new_mode, new))


def _stands(mode: str, found: str) -> Leaf | None:
    return None if mode == "000000" else Leaf(mode, found)


def _bare(leaf: Leaf | None) -> Leaf | None:
    return leaf and Leaf(leaf.mode, leaf.id)
