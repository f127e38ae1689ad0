"""Trees that their tasks went on without, on another host then and on this one now: judged late, and never lost."""

from collections.abc import Iterator
from uuid import UUID

from recovery import agents, folders, trees
from recovery.judging import Tree
from recovery.reports import Notes
from recovery.scene import Scene
from recovery.trees import Trust
from statemachine.failpoints import reach
from statemachine.refusals import LeaseLost
from store import allocations, attempts, findings, outputs
from store.allocations import Unjudged
from store.attempts import Attempt
from store.settlements import Report


def judge_left(scene: Scene, notes: Notes) -> None:
    """Judge the trees of this host whose tasks went on elsewhere; what is found counts, wherever they are by now."""
    for found in scene.until_stopped(_unjudged(scene)):
        with notes.apart(found.task_id):
            _judge(scene, notes, found)


def _unjudged(scene: Scene) -> Iterator[Unjudged]:
    after = None
    while page := _page(scene, after):
        yield from page
        after = page[-1].id


def _page(scene: Scene, after: UUID | None) -> list[Unjudged]:
    with scene.database.connection() as db:
        return allocations.unjudged(db, host=scene.host.id, after=after, limit=allocations.PAGE)


def _judge(scene: Scene, notes: Notes, found: Unjudged) -> None:
    with scene.database.connection() as db:
        attempt = attempts.get_attempt(db, found.attempt_id)
        agent, tree = agents.of(db, scene, attempt), trees.of(db, scene, attempt, found)
    agents.waited_for(agent)
    scene.patience.spend()
    if agent and not scene.dry_run:
        agent.end()
    report = _examine(scene, attempt, tree)
    with scene.writing() as db:
        task = findings.record(
            db, found.task_id, report.findings, actor=scene.actor, attempt=attempt.id, item=attempt.item_id
        )
        if not allocations.judged(db, found):
            raise LeaseLost(task=task.id, epoch=found.epoch)
        for file in report.files:
            outputs.add(db, attempt=attempt.id, host=scene.host.id, file=file)
        reach("judging_late")
    reach("judged_late")
    if not scene.dry_run:
        folders.clear(scene, attempt)
    kinds = ", ".join(finding.kind for finding in report.findings) or "nothing unsafe"
    left = f"what attempt {attempt.number} left on this host was judged: {kinds}"
    notes.did(task.id, "tree_judged", f"task {task.id}, which is {task.state}: {left}")


def _examine(scene: Scene, attempt: Attempt, tree: Tree | str) -> Report:
    """Look at a tree whose attempt ended: nothing of it is committed whatever its worker saw."""
    blank = Report(task=attempt.task_id, epoch=attempt.epoch, attempt=attempt.id, recovered=True)
    return trees.examine(scene, tree, blank, trust=Trust()) if isinstance(tree, Tree) else blank
