"""Sum up a folder the base's own rules ignore: counted, never read, but for what must be told all the same."""

import os
from typing import Any, Final

from workspace.disk.descriptors import Folders, OtherDeviceError
from workspace.disk.names import join, leaves_tree, spells_git
from workspace.inspection import lists
from workspace.inspection.troubles import Reason, TroubleError

_MOST_ODD: Final = 10_000
_LINKS_TOLD: Final = 100


class _Sum:
    def __init__(self) -> None:
        self.entries = self.size = self.links_out = 0
        self.odd: list[list[Any]] = []


def survey(folders: Folders, folder: str) -> dict[str, Any]:
    """Count everything beneath a folder; `odd` is names of git, special files and the first links out of the tree."""
    total, waiting = _Sum(), [folder]
    while waiting:
        waiting.extend(reversed(_visit(folders, waiting.pop(), total)))
    return {
        "folder": folder,
        "entries": total.entries,
        "bytes": total.size,
        "links_out": total.links_out,
        "odd": total.odd,
    }


def _visit(folders: Folders, folder: str, total: _Sum) -> list[str]:
    try:
        listed = dict(lists.scan(folders.open(folder)))
        found = {name: listed[name].stat(follow_symlinks=False) for name in sorted(listed)}
    except (PermissionError, OtherDeviceError) as error:
        kind = "unreadable" if isinstance(error, PermissionError) else "foreign"
        _tell(total, folder, [kind, 0, 0, None])
        return []
    return [join(folder, name) for name, state in found.items() if _count(folders, folder, (name, state), total)]


def _count(folders: Folders, folder: str, entry: tuple[str, os.stat_result], total: _Sum) -> bool:
    name, state = entry
    kind = lists.kind_of(state.st_mode)
    total.entries += 1
    total.size += state.st_size if kind == "file" else 0
    target = lists.link_target(folders.open(folder), name) if kind == "link" else None
    out = target is not None and leaves_tree(folder, target)
    total.links_out += out
    if kind == "special" or spells_git(name) or (out and total.links_out <= _LINKS_TOLD):
        _tell(total, join(folder, name), [kind, state.st_mode, state.st_size, target])
    return kind == "folder" and not spells_git(name)


def _tell(total: _Sum, path: str, facts: list[Any]) -> None:
    if len(total.odd) >= _MOST_ODD:
        raise TroubleError(Reason.too_many, path, f"more than {_MOST_ODD} odd entries in what is ignored")
    total.odd.append([path, *facts])
