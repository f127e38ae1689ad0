"""Findings: what the product saw and a person must decide."""

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class FindingKind(StrEnum):
    """Name what was seen; every kind is the product's own observation, never an agent's claim."""

    metadata_changed = "metadata_changed"
    agent_commit = "agent_commit"
    out_of_root_link = "out_of_root_link"
    link_target_changed = "link_target_changed"
    through_link = "through_link"
    new_symlink = "new_symlink"
    undeclared_symlink_change = "undeclared_symlink_change"
    gitlink_change = "gitlink_change"
    nested_repository = "nested_repository"
    git_named_path = "git_named_path"
    ignored_file = "ignored_file"
    special_file = "special_file"
    unexpected_directory = "unexpected_directory"
    bad_path = "bad_path"
    path_collision = "path_collision"
    unreadable = "unreadable"
    too_many_changes = "too_many_changes"
    malformed_report = "malformed_report"
    inspection_failed = "inspection_failed"
    tree_changed_after_audit = "tree_changed_after_audit"
    tree_unfit = "tree_unfit"
    commit_refused = "commit_refused"
    leftover_process = "leftover_process"
    readonly_attempt_wrote = "readonly_attempt_wrote"
    worker_crash_loop = "worker_crash_loop"
    manual = "manual"


class FindingState(StrEnum):
    """Say whether it is still owed; `accepted` means it was unsafe, `dismissed` that it was harmless."""

    open = "open"
    accepted = "accepted"
    dismissed = "dismissed"


K = FindingKind
PERMITTABLE: Final = frozenset(
    {
        K.metadata_changed,
        K.agent_commit,
        K.out_of_root_link,
        K.link_target_changed,
        K.through_link,
        K.new_symlink,
        K.undeclared_symlink_change,
        K.ignored_file,
        K.leftover_process,
    }
)

EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", FindingState.open),
    (FindingState.open, FindingState.accepted),
    (FindingState.open, FindingState.dismissed),
)


def fingerprint(kind: FindingKind, item: str | None, paths: Iterable[str], target: str = "") -> str:
    """Name a finding by what was seen, so that seeing it again gives the same name.

    Times, ids and content stay out; `target` is for links only. Paths may hold lone surrogates, which
    stand for bytes that are not UTF-8.
    """
    seen = [kind.value, item or "", sorted(set(paths)), target]
    text = json.dumps(seen, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
