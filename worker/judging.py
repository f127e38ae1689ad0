"""Judging: screen what was found in a dead tree, and commit exactly what was judged, or keep what was made.

The same for a worker that lives and for the recovery of one that does not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import screening
from screening import Verdict
from statemachine.failpoints import reach
from statemachine.findings import FindingKind
from statemachine.plans import Item
from statemachine.refusals import Refusal
from statemachine.settlement import Outcome
from store.attempts import Attempt
from store.findings import NewFinding
from store.repositories import Repository
from worker.runs import told
from workspace.executors import Executor, Place
from workspace.inspection.inspections import Inspection, InspectionAborted
from workspace.results import commits
from workspace.results.commits import Identity
from workspace.results.messages import message

# Stands for a commit that a dry run does not make, in rows that it takes back.
_NO_COMMIT: Final = "0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A tree whose agent is dead, and whatever its judgement depends on; nothing of it is kept in a dry run."""

    attempt: Attempt
    item: Item
    repository: Repository
    executor: Executor
    place: Place
    folder: Path
    date: datetime
    identity: Identity
    permits: frozenset[str]
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was found, what it came to, and what a person must look at."""

    manifest_digest: str | None = None
    verdict: Verdict | None = None
    outcome: Outcome | None = None
    commit: str | None = None
    tree: str = ""
    findings: tuple[NewFinding, ...] = ()
    diff: Path | None = None
    export_failure: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


def judge(tree: Tree, inspected: Inspection, *, may_commit: Callable[[], bool]) -> Judged:
    """Screen an inspected tree; commit it where that may be and nothing speaks against it, else keep what it holds."""
    verdict = _screen(tree, inspected)
    reach("screened")
    if isinstance(verdict, NewFinding):
        judged = Judged(manifest_digest=inspected.digest, findings=(verdict,))
    else:
        judged = Judged(
            manifest_digest=inspected.digest,
            verdict=verdict,
            findings=tuple(map(NewFinding.of, verdict.violations)),
            evidence=_evidence(verdict),
        )
    if may_commit() and not judged.findings:
        reach("looked_again")
        judged = _commit(tree, inspected, judged)
        reach("committed")
    if judged.outcome:
        return judged
    exported = _export(tree, inspected, judged)
    reach("exported")
    return exported


def _screen(tree: Tree, inspected: Inspection) -> Verdict | NewFinding:
    policy = screening.Policy(
        ignored=tree.repository.policy.get("ignored", "note"),
        agent_commits="finding" if tree.executor.commits_watched else "note",
        leftover="note" if tree.executor.ends_for_certain else "finding",
    )
    try:
        return screening.judge(item=tree.item, manifest=inspected.manifest, policy=policy, permits=tree.permits)
    except Exception as error:  # noqa: BLE001 - a judge that fails has cleared nothing: a person looks
        failed = Refusal("screening_failed", f"the change could not be judged: {type(error).__name__}: {error}")
        return NewFinding.refused(FindingKind.malformed_report, failed, item=tree.item.id)


def _commit(tree: Tree, inspected: Inspection, judged: Judged) -> Judged:
    if tree.dry_run:
        changed = any(not change["ignored"] for change in inspected.manifest["changes"])
        made = commits.Committed(_NO_COMMIT, _NO_COMMIT) if changed else None
        return _recorded(judged, made)
    try:
        tree.executor.recheck(inspected)
        made = commits.commit(
            tree.place.repo,
            inspected,
            parent=tree.attempt.base,
            message=_message(tree),
            author=tree.identity,
            date=tree.date,
            attempt=tree.attempt.id,
        )
    except InspectionAborted:
        raise
    except (Refusal, OSError) as error:
        refused = told(error)
        changed = refused.code == FindingKind.tree_changed_after_audit
        kind = FindingKind.tree_changed_after_audit if changed else FindingKind.commit_refused
        return replace(judged, findings=(NewFinding.refused(kind, refused, item=tree.item.id),))
    return _recorded(judged, made)


def _recorded(judged: Judged, made: commits.Committed | None) -> Judged:
    if made is None:
        return replace(judged, outcome=Outcome.unchanged)
    return replace(judged, outcome=Outcome.committed, commit=made.id, tree=made.tree)


def _message(tree: Tree) -> str:
    return message(
        title=tree.item.title,
        intent=tree.item.intent,
        task=tree.attempt.task_id,
        item=tree.item.id,
        revision=tree.attempt.revision,
        attempt=tree.attempt.id,
    )


def _export(tree: Tree, inspected: Inspection, judged: Judged) -> Judged:
    """Keep what was made before its workspace may go; a failure to is text, and keeps the workspace."""
    if tree.dry_run or not inspected.manifest.get("changes"):
        return judged
    try:
        kept = tree.executor.export(
            tree.place,
            inspected,
            attempt=tree.attempt.id,
            author=tree.identity,
            date=tree.date,
            path=tree.folder / "partial.diff",
        )
    except (Refusal, OSError) as error:
        return replace(judged, export_failure=told(error).message)
    return replace(judged, diff=kept.path)


def _evidence(verdict: Verdict) -> dict[str, Any]:
    permitted = [
        {"kind": each.kind.value, "fingerprint": each.fingerprint, **each.evidence} for each in verdict.permitted
    ]
    said = {"notes": list(verdict.notes), "sensitive": list(verdict.sensitive), "permitted": permitted}
    return {name: value for name, value in said.items() if value}
