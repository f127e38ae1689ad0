"""Trees that a dead worker left: inspected and screened in full, nothing committed, what they hold kept."""

import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import screening
from recovery import folders
from recovery.scene import Scene
from screening import Verdict
from statemachine.attempts import WRITING, AttemptState
from statemachine.failpoints import reach
from statemachine.findings import FindingKind
from statemachine.plans import Item
from statemachine.refusals import Refusal
from statemachine.texts import quote
from store import allocations, findings, plans, repositories, tasks
from store.attempts import Attempt
from store.engine import Connection
from store.findings import NewFinding
from store.outputs import NewOutput
from store.repositories import Repository
from workspace import executors
from workspace.executors import Executor, Place
from workspace.inspection.inspections import Inspection
from workspace.repository import refs
from workspace.repository import repositories as runners


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The rows and places that belong to the tree of one running attempt."""

    attempt: Attempt
    item: Item
    repository: Repository
    executor: Executor
    place: Place
    permits: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What a tree came to: findings count, its content is kept as partial output, nothing of it is committed."""

    manifest_digest: str | None = None
    findings: tuple[NewFinding, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    files: tuple[NewOutput, ...] = ()


def of(db: Connection, scene: Scene, attempt: Attempt) -> Tree | Remains:
    """Find the tree of an attempt by attempt and allocation; or say why there is none to look at.

    Refuses where there is one and what is needed to look at it is not here; then its task has to wait.
    """
    if attempt.kind not in WRITING or attempt.state is not AttemptState.running:
        return Remains()
    held = next((row for row in allocations.live(db, attempt.task_id) if row.id == attempt.allocation_id), None)
    if held is None or held.path is None:
        return Remains(failure="its workspace was out of use already")
    if held.host != scene.host.id:
        return Remains(failure="its workspace is on another host")
    repository = repositories.get(db, tasks.get(db, attempt.task_id).repository_id)
    item = _item(db, attempt)
    return Tree(
        attempt=attempt,
        item=item,
        repository=repository,
        executor=executors.find(attempt.executor),
        place=Place(
            root=scene.root,
            repo=runners.open_repository(scene.root, repository.runner),
            task=attempt.task_id,
            epoch=held.epoch,
            allocation=held.id,
            base=attempt.base,
            path=held.path,
            baseline=held.baseline,
        ),
        permits=findings.permits(db, task=attempt.task_id, item=item.id, revision=attempt.revision),
    )


def _item(db: Connection, attempt: Attempt) -> Item:
    found = plans.current(db, task=attempt.task_id, number=attempt.revision).plan.item(attempt.item_id or "")
    if found is None:
        raise Refusal("item_missing", f"revision {attempt.revision} has no item {attempt.item_id}")
    return found


def examine(scene: Scene, tree: Tree, *, epoch: int) -> Remains:
    """Inspect and screen a tree whose worker and agent are dead; a dry run leaves no trace of having looked."""
    if not os.path.lexists(tree.place.folder):
        return Remains(failure="its workspace was gone")
    try:
        with folders.room(scene, tree.attempt, epoch=epoch) as spool:
            links = folders.links(scene, tree.attempt)
            inspected = tree.executor.inspect(tree.place, spool=spool, links=links)
            reach("wreck_inspected")
            remains = _screen(tree, inspected)
            return remains if scene.dry_run else _export(scene, tree, inspected, remains)
    except Refusal as refused:
        found = NewFinding.refused(FindingKind.inspection_failed, refused, item=tree.item.id)
        return Remains(findings=(found,))


def _screen(tree: Tree, inspected: Inspection) -> Remains:
    policy = screening.Policy(
        ignored=tree.repository.policy.get("ignored", "note"),
        agent_commits="finding" if tree.executor.commits_watched else "note",
    )
    try:
        verdict = screening.judge(item=tree.item, manifest=inspected.manifest, policy=policy, permits=tree.permits)
    except Exception as error:  # noqa: BLE001 - a judge that fails has cleared nothing: a person looks
        failed = Refusal("screening_failed", f"the change could not be judged: {type(error).__name__}: {error}")
        found = NewFinding.refused(FindingKind.malformed_report, failed, item=tree.item.id)
        return Remains(manifest_digest=inspected.digest, findings=(found,))
    return Remains(
        manifest_digest=inspected.digest,
        findings=tuple(map(NewFinding.of, verdict.violations)),
        evidence=_evidence(verdict),
    )


def _evidence(verdict: Verdict) -> dict[str, Any]:
    permitted = [
        {"kind": each.kind.value, "fingerprint": each.fingerprint, **each.evidence} for each in verdict.permitted
    ]
    said = {"notes": list(verdict.notes), "sensitive": list(verdict.sensitive), "permitted": permitted}
    return {name: value for name, value in said.items() if value}


def _export(scene: Scene, tree: Tree, inspected: Inspection, remains: Remains) -> Remains:
    """Keep what was made; a failure to is text, for the workspace stays whatever happens."""
    if not inspected.manifest.get("changes"):
        return remains
    try:
        _forget_partial(tree)
        kept = tree.executor.export(
            tree.place,
            inspected,
            attempt=tree.attempt.id,
            author=scene.identity,
            date=tree.attempt.started_at or tree.attempt.admitted_at,
            path=folders.of(scene, tree.attempt) / "partial.diff",
        )
        return replace(remains, files=(_named(kept.path),))
    except (Refusal, OSError) as error:
        return replace(remains, failure=f"its output was not kept: {quote(str(error))}")


def _forget_partial(tree: Tree) -> None:
    """Drop what its worker exported before it died: no row names it, and a commit signed otherwise is another one."""
    ref = refs.partial_ref(tree.attempt.id)
    there = refs.read(tree.place.repo, ref)
    if there:
        refs.delete(tree.place.repo, ref, old=there)


def _named(path: Path) -> NewOutput:
    content = path.read_bytes()
    return NewOutput(kind="diff", path=str(path), size=len(content), sha256=hashlib.sha256(content).hexdigest())
