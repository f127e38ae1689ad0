"""Publishing: after the rows are written, the refs follow."""

from store import publications
from store.engine import Database
from workspace.disk.roots import Root
from workspace.repository import repositories
from workspace.repository.publications import publish


def publish_refs(database: Database, root: Root, task: int) -> list[str]:
    """Make a task's refs what its rows say; what is cut short here, recovery repairs from the same rows."""
    with database.connection() as db:
        asked = publications.of_task(db, task)
    repo = repositories.open_repository(root, asked.runner)
    return publish(repo, task, base=asked.base, head=asked.head, discarded=asked.discarded, settled=asked.settled)
