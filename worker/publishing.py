"""Publishing: after the rows are written, the refs follow."""

from statemachine.failpoints import reach
from statemachine.refusals import LeaseLost
from store import publications
from store.engine import Database
from worker.leases import Lease
from workspace.disk.roots import Root
from workspace.repository import repositories
from workspace.repository.publications import publish, seen


def publish_refs(database: Database, root: Root, task: int, *, lease: Lease | None = None) -> list[str]:
    """Make a task's refs what its rows say; what is cut short here, recovery repairs from the same rows.

    A worker names the lease under which it settled: where somebody claimed the task since, or nothing was heard of the
    lease for its whole length, it moves no ref and raises `LeaseLost`.
    """
    with database.connection() as db:
        runner = publications.of_task(db, task).runner
    repo = repositories.open_repository(root, runner)
    there = seen(repo)
    with database.connection() as db:
        asked = publications.of_task(db, task)

    def fence() -> None:
        if lease is not None and (lease.overdue or asked.epoch != lease.epoch):
            raise LeaseLost(task=task, epoch=lease.epoch)

    moved = publish(
        repo,
        task,
        base=asked.base,
        head=asked.head,
        discarded=asked.discarded,
        settled=asked.settled,
        there=there,
        fence=fence,
    )
    reach("refs_published")
    return moved
