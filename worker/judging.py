"""Judging: inspect what really happened, screen it, and commit exactly what was judged, or keep what was made."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import screening
from screening import Verdict
from statemachine.attempts import StopReason
from statemachine.failpoints import reach
from statemachine.findings import FindingKind
from statemachine.refusals import LeaseLost, Refusal
from statemachine.settlement import Outcome
from store import findings
from store.findings import NewFinding
from worker.launches import Ended
from worker.patience import surely
from worker.runs import Run, told
from worker.spaces import Space
from workspace.inspection.inspections import Inspection, InspectionAborted
from workspace.inspection.links import LinkState
from workspace.results import commits
from workspace.results.messages import message


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


def judge(run: Run, space: Space, ended: Ended, *, links: LinkState, started_at: datetime) -> Judged:
    """Inspect and screen the dead tree; commit it where nothing speaks against that, else keep what it holds."""
    inspected = _inspect(run, space, ended, links)
    if isinstance(inspected, NewFinding):
        return Judged(findings=(inspected,), export_failure="the tree could not be inspected")
    verdict = _screen(run, inspected)
    if isinstance(verdict, NewFinding):
        return Judged(manifest_digest=inspected.digest, findings=(verdict,), export_failure="it was not judged")
    judged = Judged(
        manifest_digest=inspected.digest,
        verdict=verdict,
        findings=tuple(map(NewFinding.of, verdict.violations)),
        evidence=_evidence(verdict),
    )
    reach("screened")
    if _may_commit(run, ended, judged):
        reach("looked_again")
        judged = _commit(run, inspected, judged, started_at)
        reach("committed")
    if judged.outcome:
        return judged
    exported = _export(run, space, inspected, judged, started_at)
    reach("exported")
    return exported


def _inspect(run: Run, space: Space, ended: Ended, links: LinkState) -> Inspection | NewFinding:
    if ended.exit.remaining:
        alive = Refusal("still_alive", "a process that can write to the tree could not be ended")
        return NewFinding.refused(FindingKind.inspection_failed, alive, item=run.attempt.item_id)
    try:
        inspected = run.executor.inspect(
            space.place,
            spool=run.folder / "spool",
            links=links,
            leftovers=ended.exit.leftovers,
            aborted=lambda: run.lease.lost,
        )
        reach("inspected")
        run.keep("result.json", {"exit": ended.exit.code, "manifest": inspected.digest})
        reach("result_kept")
    except InspectionAborted:
        raise LeaseLost(task=run.task.id, epoch=run.attempt.epoch) from None
    except (Refusal, OSError) as error:
        return NewFinding.refused(FindingKind.inspection_failed, told(error), item=run.attempt.item_id)
    return inspected


def _screen(run: Run, inspected: Inspection) -> Verdict | NewFinding:
    permits = surely(run.lease, lambda: _permits(run))
    policy = screening.Policy(
        ignored=run.repository.policy.get("ignored", "note"),
        agent_commits="finding" if run.executor.commits_watched else "note",
    )
    try:
        return screening.judge(item=run.item, manifest=inspected.manifest, policy=policy, permits=permits)
    except Exception as error:  # noqa: BLE001 - a judge that fails has cleared nothing: a person looks
        failed = Refusal("screening_failed", f"the change could not be judged: {type(error).__name__}: {error}")
        return NewFinding.refused(FindingKind.malformed_report, failed, item=run.attempt.item_id)


def _permits(run: Run) -> frozenset[str]:
    with run.station.database.connection() as db:
        return findings.permits(db, task=run.task.id, item=run.item.id, revision=run.attempt.revision)


def _may_commit(run: Run, ended: Ended, judged: Judged) -> bool:
    """Look once more before anything is committed: was it stopped, is its context current, is the lease held?"""
    run.lease.check()
    stopped = ended.stopped or run.stop_wanted() not in {None, StopReason.shutdown}
    return ended.exit.code == 0 and ended.isolation is None and not judged.findings and not stopped


def _commit(run: Run, inspected: Inspection, judged: Judged, started_at: datetime) -> Judged:
    try:
        run.executor.recheck(inspected)
        made = commits.commit(
            run.runner,
            inspected,
            parent=run.attempt.base,
            message=_message(run),
            author=run.station.identity,
            date=started_at,
            attempt=run.attempt.id,
        )
    except InspectionAborted:
        raise LeaseLost(task=run.task.id, epoch=run.attempt.epoch) from None
    except (Refusal, OSError) as error:
        refused = told(error)
        changed = refused.code == FindingKind.tree_changed_after_audit
        kind = FindingKind.tree_changed_after_audit if changed else FindingKind.commit_refused
        return _refuse(run, judged, kind, refused)
    if made is None:
        return replace(judged, outcome=Outcome.unchanged)
    return replace(judged, outcome=Outcome.committed, commit=made.id, tree=made.tree)


def _refuse(run: Run, judged: Judged, kind: FindingKind, refused: Refusal) -> Judged:
    return replace(judged, findings=(*judged.findings, NewFinding.refused(kind, refused, item=run.attempt.item_id)))


def _message(run: Run) -> str:
    return message(
        title=run.item.title,
        intent=run.item.intent,
        task=run.task.id,
        item=run.item.id,
        revision=run.attempt.revision,
        attempt=run.attempt.id,
    )


def _export(run: Run, space: Space, inspected: Inspection, judged: Judged, started_at: datetime) -> Judged:
    """Keep what was made before its workspace may go; a failure to is text, and keeps the workspace."""
    if not inspected.manifest.get("changes"):
        return judged
    try:
        kept = run.executor.export(
            space.place,
            inspected,
            attempt=run.attempt.id,
            author=run.station.identity,
            date=started_at,
            path=run.folder / "partial.diff",
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
