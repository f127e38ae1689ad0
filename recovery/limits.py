"""Tasks whose budget is spent: nobody would claim them, so they go to their limit gate."""

from collections.abc import Iterator

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.failpoints import reach
from statemachine.tasks import TaskEvent, TaskState
from store import recoveries, tasks
from store.engine import Connection
from store.tasks import Question, Task

_SPENT = "the budget is spent"


def spend_out(scene: Scene, notes: Notes) -> None:
    """Put queued tasks without budget at their limit gate."""
    for task in scene.until_stopped(_exhausted(scene)):
        with notes.apart(task.id):
            with scene.writing() as db:
                moved = gated(db, tasks.lock(db, task.id), actor=scene.actor)
            reach("spent_out")
            if moved.state is TaskState.needs_human:
                notes.did(task.id, TaskEvent.hit_limit, f"task {task.id} waits for a person: its budget is spent")


def _exhausted(scene: Scene) -> Iterator[Task]:
    after = 0
    while page := _page(scene, after):
        yield from page
        after = page[-1].id


def _page(scene: Scene, after: int) -> list[Task]:
    with scene.database.connection() as db:
        return recoveries.exhausted(db, after=after, limit=recoveries.PAGE)


def gated(db: Connection, task: Task, *, actor: str) -> Task:
    """Move a task that was put into the queue without budget on to its limit gate; any other stays where it is."""
    if task.state is not TaskState.queued or task.budget is None or task.spent < task.budget:
        return task
    return tasks.move(db, task, TaskEvent.hit_limit, actor=actor, question=Question(reason=_SPENT))
