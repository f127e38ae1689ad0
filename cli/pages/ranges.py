"""From which commit to which a task's result reaches, and the repository that holds both."""

from dataclasses import dataclass

from cli.frame.context import Context
from store import repositories, tasks
from workspace.repository.repositories import RunnerRepository, open_repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Two commits of a runner repository."""

    task: int
    repository: RunnerRepository
    base: str
    head: str


def of_task(context: Context, task: int) -> Range:
    """Find the result of a task in the runner repository of this host."""
    with context.database.connection() as db:
        row = tasks.get(db, task)
        repository = repositories.get(db, row.repository_id)
    runner = open_repository(context.root, repository.runner)
    return Range(task=task, repository=runner, base=row.base, head=row.head)
