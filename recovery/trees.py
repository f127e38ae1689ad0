"""Trees that a dead worker left: inspected in full whatever anybody said of them, and judged as a worker would."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from recovery import folders
from recovery.judging import Tree
from recovery.scene import Scene
from statemachine.attempts import WRITING
from statemachine.failpoints import reach
from statemachine.findings import FindingKind
from statemachine.plans import Item
from statemachine.refusals import LostRace, Refusal
from store import findings, plans, repositories, tasks
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Connection
from store.findings import NewFinding
from store.settlements import Report
from workspace import executors
from workspace.agents.endings import Kept
from workspace.executors import Place
from workspace.inspection.inspections import Inspection
from workspace.repository import refs
from workspace.repository import repositories as runners

ELSEWHERE = "its workspace is on another host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far a tree may go: whether an ending its worker kept may count, and whether its work may be committed."""

    ending: bool = False
    commit: bool = False


def of(db: Connection, scene: Scene, attempt: Attempt, held: Allocation | None) -> Tree | str:
    """Find the tree of an attempt by attempt and allocation; or say why there is none to look at, if there ever was.

    Refuses where there is one and what is needed to look at it is not here; then its task has to wait.
    """
    if attempt.kind not in WRITING or attempt.started_at is None:
        return ""
    if held is None or held.path is None:
        return "its workspace was out of use already"
    if held.host != scene.host.id:
        return ELSEWHERE
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
        folder=folders.place(scene, attempt),
        date=attempt.started_at,
        identity=scene.identity,
        permits=findings.permits(db, task=attempt.task_id, item=item.id, revision=attempt.revision),
        dry_run=scene.dry_run,
    )


def examine(scene: Scene, tree: Tree, blank: Report, *, trust: Trust) -> Report:
    """Inspect and judge a tree whose worker and agent are dead; a dry run leaves no trace of having looked.

    What the worker kept of its agent's end counts only where the tree is what it was then. What it saw outlive
    the agent counts in any case: that can only add a finding.
    """
    if not os.path.lexists(tree.place.folder):
        return replace(blank, failure="its workspace was gone")
    try:
        with folders.room(scene, tree.attempt) as spool:
            kept = folders.kept(scene, tree.attempt, epoch=tree.place.epoch)
            inspected = _inspect(scene, tree, spool, kept)
            reach("wreck_inspected")
            ending = kept.ending if kept and trust.ending and kept.manifest == inspected.digest else None
            if not scene.dry_run:
                _forget(tree, refs.partial_ref, *([refs.attempt_ref] if ending else []))
            return scene.conclude(tree, inspected, blank, ending=ending, may_commit=trust.commit)
    except LostRace:
        raise
    except Refusal as refused:
        found = NewFinding.refused(FindingKind.inspection_failed, refused, item=tree.item.id)
        return replace(blank, findings=(found,))


def _item(db: Connection, attempt: Attempt) -> Item:
    found = plans.current(db, task=attempt.task_id, number=attempt.revision).plan.item(attempt.item_id or "")
    if found is None:
        raise Refusal("item_missing", f"revision {attempt.revision} has no item {attempt.item_id}")
    return found


def _inspect(scene: Scene, tree: Tree, spool: Path, kept: Kept | None) -> Inspection:
    return tree.executor.inspect(
        tree.place,
        spool=spool,
        links=folders.links(scene, tree.attempt),
        leftovers=kept.ending.leftovers if kept else (),
    )


def _forget(tree: Tree, *names: Callable[[UUID], str]) -> None:
    """Drop what its worker kept under refs before it died: no row names it, and it may be signed by another name."""
    for name in names:
        ref = name(tree.attempt.id)
        there = refs.read(tree.place.repo, ref)
        if there:
            refs.delete(tree.place.repo, ref, old=there)
