"""The change manifest: what an inspection saw, field by field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from screening.entries import Change, read_change
from screening.shapes import Fields, Malformed, flag, number, object_id, optional, path, sequence, text, word

MOST_CHANGES: Final = 10_000
MOST_PATH_BYTES: Final = 480 * 1024
_FIELDS: Final = (
    *("version", "base", "metadata_changed", "metadata", "agent_commits", "commits", "links_changed"),
    *("gitlink_content", "leftover_processes", "ignored", "notes", "identity", "changes"),
)


class TooManyChanges(Exception):  # noqa: N818 - becomes a finding, never a traceback
    """Refuse a list of changes that is missing or too long to be judged; `count` is None where it is missing."""

    def __init__(self, count: int | None) -> None:
        super().__init__(str(count))
        self.count = count


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDifference:
    """Hold what became of the target of a declared link."""

    path: str
    difference: str
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Hold a process that outlived the agent."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """Hold a path the base's rules ignore; a folder ends in a slash and stands for all beneath it."""

    path: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Hold everything an inspection reports."""

    base: str
    metadata_changed: bool
    metadata: tuple[str, ...]
    agent_commits: bool
    commits: tuple[str, ...]
    links_changed: tuple[LinkDifference, ...]
    gitlink_content: tuple[str, ...]
    leftover_processes: tuple[Leftover, ...]
    ignored: tuple[Ignored, ...]
    notes: tuple[str, ...]
    identity: str
    changes: tuple[Change, ...]


def read_manifest(report: object) -> Manifest:
    """Check a report from end to end; raises `TooManyChanges` or `Malformed`."""
    if isinstance(report, Mapping):
        _refuse_unbounded(report.get("changes"))
    fields = Fields.of(report, "", _FIELDS)
    if fields.read("version", number) != 1:
        raise Malformed("version", "is not 1")
    manifest = Manifest(
        base=fields.read("base", object_id),
        metadata_changed=fields.read("metadata_changed", flag),
        metadata=fields.listed("metadata", text),
        agent_commits=fields.read("agent_commits", flag),
        commits=fields.listed("commits", text),
        links_changed=fields.listed("links_changed", _difference),
        gitlink_content=fields.listed("gitlink_content", path),
        leftover_processes=fields.listed("leftover_processes", _leftover),
        ignored=fields.listed("ignored", _ignored),
        notes=fields.listed("notes", text),
        identity=fields.read("identity", word("exact", "folding")),
        changes=fields.listed("changes", read_change),
    )
    _refuse_contradictions(manifest)
    return manifest


def _refuse_unbounded(changes: object) -> None:
    if changes is None:
        raise TooManyChanges(None)
    counted = [change for change in sequence(changes, "changes") if not _says_ignored(change)]
    if len(counted) > MOST_CHANGES:
        raise TooManyChanges(len(counted))


def _says_ignored(change: object) -> bool:
    return isinstance(change, dict) and change.get("ignored") is True and change.get("kind") == "add"


def _refuse_contradictions(manifest: Manifest) -> None:
    if manifest.metadata and not manifest.metadata_changed:
        raise Malformed("metadata_changed", "is false, yet differences are listed")
    if manifest.commits and not manifest.agent_commits:
        raise Malformed("agent_commits", "is false, yet commits are listed")
    total = sum(len(name.encode("utf-8", "surrogateescape")) for name in _counted_paths(manifest.changes))
    if total > MOST_PATH_BYTES:
        raise Malformed("changes", f"have {total} bytes of paths, more than {MOST_PATH_BYTES}")
    sides = [side for change in manifest.changes for side in (change.old, change.new)]
    if any(side is not None and side.id is not None and len(side.id) != len(manifest.base) for side in sides):
        raise Malformed("changes", "have object ids of another length than the base's")


def _counted_paths(changes: Sequence[Change]) -> list[str]:
    counted = [change for change in changes if not change.ignored]
    return [name for change in counted for name in (change.path, change.old_path) if name is not None]


def _difference(value: object, place: str) -> LinkDifference:
    fields = Fields.of(value, place, ("path", "difference", "target"))
    return LinkDifference(
        path=fields.read("path", path),
        difference=fields.read("difference", text),
        target=fields.read("target", optional(text)),
    )


def _leftover(value: object, place: str) -> Leftover:
    fields = Fields.of(value, place, ("pid", "command"))
    return Leftover(pid=fields.read("pid", number), command=fields.read("command", text))


def _ignored(value: object, place: str) -> Ignored:
    fields = Fields.of(value, place, ("path", "entries", "bytes"))
    return Ignored(
        path=fields.read("path", path), entries=fields.read("entries", number), bytes=fields.read("bytes", number)
    )
