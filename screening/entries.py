"""One change of a manifest: what a path was and what it is, checked field by field."""

from dataclasses import dataclass
from typing import Final

from screening.shapes import Fields, Malformed, flag, number, object_id, optional, path, text, word

_FIELDS: Final = ("kind", "path", "old_path", "old", "new", "ignored", "collides", "through_link")
_TYPES: Final = ("file", "symlink", "gitlink", "repository", "directory", "special", "unreadable")
_MODES: Final = ("100644", "100755", "120000", "160000", "040000", "000000")
_MODES_OF: Final = {"file": ("100644", "100755"), "symlink": ("120000",), "gitlink": ("160000",)}
_TRACKED: Final = frozenset(_MODES_OF)
_STORED: Final = frozenset({"file", "symlink"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Hold what a path was, or is."""

    type: str
    mode: str
    id: str | None
    size: int
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Hold one change of one path; a rename has two."""

    kind: str
    path: str
    old_path: str | None
    old: Side | None
    new: Side | None
    ignored: bool
    collides: bool
    through_link: bool | None


def read_change(value: object, place: str) -> Change:
    """Read one change of the list."""
    fields = Fields.of(value, place, _FIELDS)
    change = Change(
        kind=fields.read("kind", word("add", "delete", "modify", "mode", "type", "rename")),
        path=fields.read("path", path),
        old_path=fields.read("old_path", optional(path)),
        old=fields.read("old", optional(_side)),
        new=fields.read("new", optional(_side)),
        ignored=fields.read("ignored", flag),
        collides=fields.read("collides", flag),
        through_link=optional(flag)(fields.values.get("through_link"), f"{place}.through_link"),
    )
    _refuse_shape(change, place)
    return change


def _refuse_shape(change: Change, place: str) -> None:
    if (change.old_path is not None) is not (change.kind == "rename"):
        raise Malformed(f"{place}.old_path", "belongs to a rename, and to each of them")
    if (change.old is None) is not (change.kind == "add"):
        raise Malformed(f"{place}.old", "belongs to every change but an add")
    if (change.new is None) is not (change.kind == "delete"):
        raise Malformed(f"{place}.new", "belongs to every change but a delete")
    if change.ignored and change.kind != "add":
        raise Malformed(f"{place}.ignored", "is true for a path the base holds; only an added one can be ignored")
    if change.old is not None and (change.old.type not in _TRACKED or change.old.id is None):
        raise Malformed(f"{place}.old", "is nothing a base can hold")
    if change.new is not None:
        _refuse_new(change, change.new, place)


def _refuse_new(change: Change, new: Side, place: str) -> None:
    if new.type == "symlink" and new.target is None:
        raise Malformed(f"{place}.new.target", "is missing for a symlink")
    if new.type in _STORED and new.id is None and not change.ignored:
        raise Malformed(f"{place}.new.id", "is missing for content that could be committed")
    if change.through_link and new.type != "symlink":
        raise Malformed(f"{place}.through_link", "is true for what is no symlink")


def _side(value: object, place: str) -> Side:
    fields = Fields.of(value, place, ("type", "mode", "id", "size", "target"))
    side = Side(
        type=fields.read("type", word(*_TYPES)),
        mode=fields.read("mode", word(*_MODES)),
        id=fields.read("id", optional(object_id)),
        size=fields.read("size", number),
        target=fields.read("target", optional(text)),
    )
    if side.mode not in _MODES_OF.get(side.type, _MODES):
        raise Malformed(f"{place}.mode", f"is {side.mode} for a {side.type}")
    if side.target is not None and side.type != "symlink":
        raise Malformed(f"{place}.target", "belongs to symlinks only")
    return side
