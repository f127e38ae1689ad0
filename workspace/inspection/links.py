"""Declared links: where they lead before an agent runs, and what is different there after it."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workspace.disk import descriptors
from workspace.disk.descriptors import Folders, OtherDeviceError, State
from workspace.disk.names import join, raw, spells_git, text
from workspace.inspection import lists, manifests, trees
from workspace.inspection.packs import digest
from workspace.inspection.reads import Reader
from workspace.inspection.walks import InspectionFailed, told

MOST_ENTRIES: Final = 20_000
MOST_BYTES: Final = 4 << 30
_NOTHING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_REFUSED: Final = {"through_link": "through_link", "outside": "out_of_root_link", "metadata": "out_of_root_link"}


def _never() -> None:
    """Let it go on."""


@dataclass(frozen=True, slots=True)
class LinkRefusal:
    """Name a link that must not be launched with, and the kind of finding it is."""

    kind: str
    path: str
    target: str


@dataclass(frozen=True, slots=True)
class LinkState:
    """Hold the state of declared links and of all that lies beneath their targets; plain JSON inside."""

    document: dict[str, Any]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the document."""
        return manifests.digest(self.document)

    @property
    def refusals(self) -> tuple[LinkRefusal, ...]:
        """Return the links whose targets nobody could answer for."""
        return tuple(
            LinkRefusal(_REFUSED[link["state"]], path, link["target"])
            for path, link in sorted(self.document["links"].items())
            if link["state"] in _REFUSED
        )


def before(tree: Path, declared: Sequence[str], *, object_format: str = "sha1") -> LinkState:
    """Look at declared paths in a fresh tree, and at all that a link among them leads to."""
    with _looking(tree, object_format, _never) as look:
        return LinkState({"version": 1, "links": {path: look.link(path) for path in sorted(set(declared))}})


def after(
    tree: Path, earlier: LinkState, *, object_format: str = "sha1", check: Callable[[], None] = _never
) -> list[dict[str, str]]:
    """List every difference: a link that says something else now, a target that is not what it was.

    `check` is called now and then and may raise to end it.
    """
    links = [(path, link) for path, link in sorted(earlier.document["links"].items()) if link["state"] != "not_a_link"]
    if not links:
        return []
    with _looking(tree, object_format, check) as look:
        return [each for path, link in links for each in look.differences(path, link)]


def traverses(folders: Folders, path: str, target: str) -> bool:
    """Tell whether a link's way to its target goes through another link, or nothing proves that it does not."""
    try:
        return _follow(folders, path.rpartition("/")[0], target)[0] not in {"present", "absent"}
    except OSError:
        return True


@contextlib.contextmanager
def _looking(tree: Path, object_format: str, check: Callable[[], None]) -> Iterator["_Look"]:
    with told(), descriptors.opened(tree) as opened, Folders(opened) as folders:
        yield _Look(folders, Reader(folders, digest(object_format), None), check)


@dataclass(slots=True)
class _Look:
    """Look along links in one tree, and count what is looked at."""

    folders: Folders
    reader: Reader
    check: Callable[[], None]
    count: int = 0
    size: int = 0

    def link(self, path: str) -> dict[str, Any]:
        target = self._target(path)
        if target is None:
            return {"state": "not_a_link", "target": None, "resolved": None, "entries": {}}
        return {"target": target, **self._reached(path.rpartition("/")[0], target)}

    def differences(self, path: str, was: dict[str, Any]) -> Iterator[dict[str, str]]:
        now = self.link(path)
        if now["target"] not in {was["target"], None}:
            yield {"path": path, "difference": "retargeted", "target": now["target"]}
        if now["target"] != was["target"]:
            # The link is judged by itself; what it led to is looked at where it was.
            now = self._reached("", was["resolved"]) if was["resolved"] is not None else was
        if now["state"] != was["state"]:
            yield {"path": path, "difference": f"{was['state']}->{now['state']}", "target": was["target"]}
        elif now["entries"] != was["entries"]:
            yield {"path": path, "difference": "content", "target": was["target"]}

    def _target(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        try:
            return text(os.readlink(raw(name), dir_fd=self.folders.open(folder)))
        except OSError:
            return None

    def _reached(self, folder: str, target: str) -> dict[str, Any]:
        state, resolved = _follow(self.folders, folder, target)
        entries = dict(self._entries(resolved)) if state == "present" and resolved else {}
        return {"state": state, "resolved": resolved, "entries": entries}

    def _entries(self, path: str) -> Iterator[tuple[str, list[Any]]]:
        """Yield what is at a path and beneath it: kind, mode, size and content."""
        folder, _, name = path.rpartition("/")
        top = lists.listing(self.folders, folder)
        waiting = [(folder, top["signature"], [entry for entry in top["entries"] if entry[0] == name])]
        while waiting:
            folder, state, entries = waiting.pop()
            identities = self._identities(folder, state, entries)
            for entry_name, kind, mode, size, *_ in entries:
                entry_path = join(folder, entry_name)
                plain = trees.file_mode(mode) if kind == "file" else kind
                yield entry_path, [plain, 0 if kind == "folder" else size, identities.get(entry_path)]
                if kind == "folder":
                    waiting.append(self._beneath(entry_path))

    def _beneath(self, folder: str) -> tuple[str, State, list[Any]]:
        found = lists.listing(self.folders, folder)
        if found["state"] != "open":
            raise InspectionFailed(f"a link's target is {found['state']}", reason="link_target", path=folder)
        return folder, found["signature"], found["entries"]

    def _identities(self, folder: str, state: State, entries: Sequence[lists.Entry]) -> dict[str, str]:
        self.check()
        self.count += len(entries)
        self.size += sum(size for _, kind, _, size, *_ in entries if kind == "file")
        if self.count > MOST_ENTRIES or self.size > MOST_BYTES:
            raise InspectionFailed(
                f"more than {MOST_ENTRIES} entries or {MOST_BYTES} bytes lie beneath links' targets",
                reason="link_target",
                path=folder,
            )
        wanted = [(name, kind, state, "") for name, kind, _, _, state, _ in entries if kind in {"file", "link"}]
        self.reader.read(folder, state, wanted)
        return {path: identity for path, identity, *_ in self.reader.take()["changed"]}


def _follow(folders: Folders, folder: str, target: str) -> tuple[str, str | None]:
    """Follow a link's text a part at a time, as the kernel would; return the state and the path reached."""
    if target.startswith("/"):
        return "outside", None
    way, parts = folder.split("/") if folder else [], [part for part in target.split("/") if part not in {"", "."}]
    for index, part in enumerate(parts):
        if part == "..":
            if not way:
                return "outside", None
            way.pop()
            continue
        state = _step(folders, "/".join(way), part)
        path = "/".join([*way, part])
        if state == "file":
            return ("present" if index == len(parts) - 1 else "absent"), path
        if state != "folder":
            return state, path
        way.append(part)
    # The tree itself holds the repository's metadata.
    return ("present", "/".join(way)) if way else ("metadata", None)


def _step(folders: Folders, folder: str, part: str) -> str:
    if spells_git(part):
        return "metadata"
    try:
        kind = lists.kind_of(os.lstat(raw(part), dir_fd=folders.open(folder)).st_mode)
    except OtherDeviceError:
        return "outside"
    except OSError as error:
        if error.errno in _NOTHING:
            return "absent"
        raise
    return {"folder": "folder", "link": "through_link"}.get(kind, "file")
