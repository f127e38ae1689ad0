"""Changes path by path: a rename is a delete of one path and an add of another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from screening.entries import Change, Side
from statemachine.paths import fold, is_utf8
from statemachine.plans import OperationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Hold what happened to one path; `other` is a rename's other path."""

    kind: OperationKind
    path: str
    old: Side | None
    new: Side | None
    other: str | None = None
    ignored: bool = False
    collides: bool = False
    through_link: bool | None = None


def parts_of(changes: Iterable[Change]) -> tuple[Part, ...]:
    """Split every change into its paths."""
    return tuple(part for change in changes for part in _split(change))


def told_twice(parts: Iterable[Part], *, folding: bool) -> str | None:
    """Name a path that is reported twice; a rename that only changes a spelling is two paths that fold to one."""
    seen: dict[str, list[Part]] = {}
    for part in parts:
        if folding and not is_utf8(part.path):
            return part.path
        seen.setdefault(fold(part.path) if folding else part.path, []).append(part)
    return next((same[-1].path for same in seen.values() if len(same) > 1 and not _is_respelling(same)), None)


def _split(change: Change) -> Iterator[Part]:
    if change.old_path is not None:
        yield Part(kind=OperationKind.delete, path=change.old_path, old=change.old, new=None, other=change.path)
    is_whole = change.old_path is None
    yield Part(
        kind=_KINDS.get(change.kind, OperationKind.edit),
        path=change.path,
        old=change.old if is_whole else None,
        new=change.new,
        other=change.old_path,
        ignored=change.ignored,
        collides=change.collides,
        through_link=change.through_link,
    )


_KINDS = {"add": OperationKind.add, "rename": OperationKind.add, "delete": OperationKind.delete}


def _is_respelling(same: list[Part]) -> bool:
    kinds = sorted(part.kind for part in same)
    return kinds == [OperationKind.add, OperationKind.delete] and same[0].path != same[1].path
