"""Trees that a dead worker left: inspected and screened in full, nothing committed, what they hold kept."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import screening
from recovery.scene import Scene
from statemachine.findings import FindingKind
from statemachine.plans import Item
from statemachine.refusals import Refusal
from store import allocations, attempts, findings, plans, repositories, tasks
from store.attempts import Attempt
from store.engine import Connection
from store.findings import NewFinding
from store.outputs import NewOutput
from store.repositories import Repository
from workspace import executors
from workspace import repositories as runners
from workspace.executors import Executor, Place
from workspace.inspections import Inspection
from workspace.links import LinkState


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What a tree came to: findings count, its content is kept as partial output, nothing of it is committed."""

    manifest_digest: str | None = None
    findings: tuple[NewFinding, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    files: tuple[NewOutput, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """The rows and places that belong to one tree."""

    attempt: Attempt
    item: Item
    repository: Repository
    executor: Executor
    place: Place
    folder: Path
    permits: frozenset[str]


def examine(scene: Scene, attempt: attempts.Attempt) -> Remains:
    """Inspect and screen the tree of an attempt whose worker and agent are gone."""
    with scene.database.connection() as db:
        case = _case(db, scene, attempt)
    if case is None or not case.place.folder.is_dir():
        return Remains(failure="its workspace was gone when its worker was found dead")
    try:
        inspected = _inspect(case)
    except Refusal as refused:
        found = NewFinding.refused(FindingKind.inspection_failed, refused, item=case.item.id)
        return Remains(findings=(found,))
    return _export(scene, case, inspected, _screen(case, inspected))


def _case(db: Connection, scene: Scene, attempt: Attempt) -> _Case | None:
    held = next((row for row in allocations.live(db, attempt.task_id) if row.id == attempt.allocation_id), None)
    plan = plans.current(db, task=attempt.task_id, number=attempt.revision).plan
    item = plan.item(attempt.item_id or "")
    if held is None or held.path is None or held.host != scene.host.id or item is None:
        return None
    repository = repositories.get(db, tasks.get(db, attempt.task_id).repository_id)
    runner = runners.open_repository(scene.root, repository.runner)
    return _Case(
        attempt=attempt,
        item=item,
        repository=repository,
        executor=executors.find(attempt.executor),
        place=Place(
            root=scene.root,
            repo=runner,
            task=attempt.task_id,
            epoch=held.epoch,
            allocation=held.id,
            base=attempt.base,
            path=held.path,
            baseline=held.baseline,
        ),
        folder=scene.root.attempts / str(attempt.id),
        permits=findings.permits(db, task=attempt.task_id, item=item.id, revision=attempt.revision),
    )


def _inspect(case: _Case) -> Inspection:
    spool = case.folder / f"recovered-{case.attempt.epoch}"
    return case.executor.inspect(case.place, spool=spool, links=_links(case))


def _links(case: _Case) -> LinkState:
    """Read where declared links led before the launch; the row's digest proves that nobody rewrote the file since."""
    try:
        kept = LinkState(json.loads((case.folder / "links.json").read_text(encoding="ascii")))
    except (OSError, ValueError) as error:
        raise Refusal("links_unknown", "what is known of declared links cannot be read", reason=str(error)) from error
    if kept.digest != case.attempt.links_digest:
        raise Refusal("links_unknown", "what was kept about declared links is not what the attempt began with")
    return kept


def _screen(case: _Case, inspected: Inspection) -> Remains:
    policy = screening.Policy(
        ignored=case.repository.policy.get("ignored", "note"),
        agent_commits="finding" if case.executor.commits_watched else "note",
    )
    verdict = screening.judge(item=case.item, manifest=inspected.manifest, policy=policy, permits=case.permits)
    return Remains(
        manifest_digest=inspected.digest,
        findings=tuple(map(NewFinding.of, verdict.violations)),
        evidence={"notes": list(verdict.notes)} if verdict.notes else {},
    )


def _export(scene: Scene, case: _Case, inspected: Inspection, remains: Remains) -> Remains:
    if not inspected.manifest.get("changes"):
        return remains
    try:
        kept = case.executor.export(
            case.place,
            inspected,
            attempt=case.attempt.id,
            author=scene.identity,
            date=case.attempt.started_at or case.attempt.admitted_at,
            path=case.folder / "partial.diff",
        )
    except Refusal as refused:
        return replace(remains, failure=f"its output was not kept: {refused.message}")
    return replace(remains, files=(_named(kept.path),))


def _named(path: Path) -> NewOutput:
    content = path.read_bytes()
    return NewOutput(kind="diff", path=str(path), size=len(content), sha256=hashlib.sha256(content).hexdigest())
