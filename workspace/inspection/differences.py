"""Turn what was seen in a tree into changes against its base, in the manifest's words. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from workspace.disk.names import folded, join
from workspace.inspection.sightings import Sightings
from workspace.inspection.trees import Side

_CONTENT: Final = frozenset({"file", "symlink"})

Change = dict[str, Any]


def changes(seen: Sightings, olds: Mapping[str, Side], through_link: Callable[[str, str], bool]) -> list[Change]:
    """List every change, by path; `olds` are the base's sides of what is gone or different.

    A file of which only the path changed is one change, so that nobody reads its content twice.
    """
    now, gone = seen.now, {path: side for path, side in olds.items() if path not in seen.now}
    moved = _renames(gone, {path: side for path, side in now.items() if path not in olds})
    colliding = _colliding(seen, gone)
    sources = set(moved.values())
    found = [_change("delete", path, gone[path], None) for path in gone if path not in sources]
    for path, side in now.items():
        source = moved.get(path)
        old = gone[source] if source else olds.get(path)
        change = _change("rename" if source else _kind(old, side), path, old, side, source)
        change["collides"] = path in colliding
        change["through_link"] = through_link(path, side.target or "") if side.type == "symlink" else None
        found.append(change)
    found += [_ignored(path, side, olds.get(path)) for path, side in seen.ignored_odd.items()]
    return sorted(found, key=lambda change: (change["path"], change["kind"]))


def missing(seen: Sightings) -> list[str]:
    """List the paths of the base that are gone: not there, and not merely out of sight."""
    lost = [folder for folder in seen.base.folders if folder not in seen.opened and not seen.out_of_sight(folder)]
    within = (join(folder, name) for folder in lost for name in seen.base.folders[folder])
    there = seen.now.keys() | seen.ignored_odd.keys()
    return sorted({*seen.gone, *within} - there)


def _kind(old: Side | None, new: Side) -> str:
    if old is None:
        return "add"
    if old.type != new.type:
        return "type"
    return "modify" if old.id != new.id else "mode"


def _change(kind: str, path: str, old: Side | None, new: Side | None, source: str | None = None) -> Change:
    return {
        "kind": kind,
        "path": path,
        "old_path": source,
        "old": old.document() if old else None,
        "new": new.document() if new else None,
        "ignored": False,
        "collides": False,
        "through_link": None,
    }


def _ignored(path: str, side: Side, old: Side | None) -> Change:
    # Nobody looked along the way of an ignored link, so nothing is proven about it.
    facts = {"ignored": True, "through_link": True if side.type == "symlink" else None}
    return _change(_kind(old, side), path, old, side) | facts


def _renames(gone: Mapping[str, Side], new: Mapping[str, Side]) -> dict[str, str]:
    """Pair each new path with a gone one of the same content, the same name first; what is empty proves nothing."""
    movable = [path for path, side in sorted(new.items()) if side.type in _CONTENT and side.id and side.size]
    pairs: dict[str, str] = {}
    for named in (_name, _any_name):
        sources: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for path in sorted(gone.keys() - pairs.values(), reverse=True):
            sources[gone[path].type, gone[path].id, named(path)].append(path)
        for path in movable:
            candidates = sources[new[path].type, new[path].id, named(path)]
            if path not in pairs and candidates:
                pairs[path] = candidates.pop()
    return pairs


def _any_name(_: str) -> str:
    return ""


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _colliding(seen: Sightings, gone: Mapping[str, Side]) -> set[str]:
    """Find the added paths that a file system which ignores case or Unicode form would take for another."""
    added = [path for path in seen.now if path not in seen.base.entries]
    if not added:
        return set()
    spellings: dict[str, str] = {}
    doubtful: set[str] = set()
    for path in _steps([*(path for path in seen.base.entries if path not in gone), *seen.now]):
        if spellings.setdefault(folded(path), path) != path:
            doubtful.add(folded(path))
    return {path for path in added if any(folded(step) in doubtful for step in _steps([path]))} if doubtful else set()


def _steps(paths: Iterable[str]) -> set[str]:
    steps = set(paths)
    for path in list(steps):
        folder = path.rpartition("/")[0]
        while folder and folder not in steps:
            steps.add(folder)
            folder = folder.rpartition("/")[0]
    return steps
