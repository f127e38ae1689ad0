"""Manifests as an inspection would write them, clean until a test says otherwise."""

from typing import Any, Final

from screening import Policy, Verdict, judge
from statemachine.findings import FindingKind
from statemachine.plans import Item, Operation, OperationKind

Json = dict[str, Any]

BASE: Final = "b" * 40
OLD_ID: Final = "0" * 39 + "1"
NEW_ID: Final = "0" * 39 + "2"
EDIT, ADD, DELETE, RENAME = OperationKind.edit, OperationKind.add, OperationKind.delete, OperationKind.rename
K = FindingKind


def report(*changes: Json, **facts: Any) -> Json:
    """Make a manifest of these changes; every other fact is clean."""
    clean = {
        "version": 1,
        "base": BASE,
        "metadata_changed": False,
        "metadata": [],
        "agent_commits": False,
        "commits": [],
        "links_changed": [],
        "gitlink_content": [],
        "leftover_processes": [],
        "ignored": [],
        "notes": [],
        "identity": "exact",
        "changes": list(changes),
    }
    return {**clean, **facts}


def side(kind: str = "file", **facts: Any) -> Json:
    """Make one side of a change."""
    modes = {"file": "100644", "symlink": "120000", "gitlink": "160000", "directory": "040000", "repository": "040000"}
    stored = kind in {"file", "symlink", "gitlink"}
    made = {
        "type": kind,
        "mode": modes.get(kind, "000000"),
        "id": NEW_ID if stored else None,
        "size": 3,
        "target": None,
    }
    return {**made, **facts}


def old_side(kind: str = "file", **facts: Any) -> Json:
    """Make the side a base has."""
    return side(kind, **{"id": OLD_ID, **facts})


def link(target: str, **facts: Any) -> Json:
    """Make a side that is a symlink."""
    return side("symlink", target=target, **facts)


def _change(kind: str, path: str, old: Json | None, new: Json | None, **facts: Any) -> Json:
    proven = False if new is not None and new.get("type") == "symlink" else None
    clean = {"old_path": None, "ignored": False, "collides": False, "through_link": proven}
    return {"kind": kind, "path": path, "old": old, "new": new, **clean, **facts}


def added(path: str, new: Json | None = None, **facts: Any) -> Json:
    """Make the add of a path."""
    return _change("add", path, None, new or side(), **facts)


def deleted(path: str, old: Json | None = None, **facts: Any) -> Json:
    """Make the delete of a path."""
    return _change("delete", path, old or old_side(), None, **facts)


def modified(path: str, old: Json | None = None, new: Json | None = None, **facts: Any) -> Json:
    """Make a change of content, mode or type."""
    old, new = old or old_side(), new or side()
    return _change("modify" if old["type"] == new["type"] else "type", path, old, new, **facts)


def moved(old_path: str, path: str, old: Json | None = None, new: Json | None = None, **facts: Any) -> Json:
    """Make a rename."""
    return _change("rename", path, old or old_side(), new or side(id=OLD_ID), old_path=old_path, **facts)


def an_item(*operations: Operation) -> Item:
    """Make an item that declares these operations."""
    return Item(id="P1", title="Do it", intent="", operations=operations)


def op(kind: OperationKind, path: str, **facts: Any) -> Operation:
    """Declare an operation."""
    return Operation(kind=kind, path=path, **facts)


EVERYTHING: Final = an_item(op(EDIT, "**"), op(ADD, "**"), op(DELETE, "**"))


def judged(
    *changes: Json,
    item: Item = EVERYTHING,
    policy: Policy | None = None,
    permits: frozenset[str] = frozenset(),
    **facts: Any,
) -> Verdict:
    """Judge a manifest of these changes."""
    return judge(item=item, manifest=report(*changes, **facts), policy=policy or Policy(), permits=permits)


def kinds(verdict: Verdict) -> list[FindingKind]:
    """List the kinds of what is owed."""
    return [violation.kind for violation in verdict.violations]
