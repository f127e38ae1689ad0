"""Workers of this host that are gone: proven by their processes, and said in their rows so that nobody waits."""

from typing import Final

from recovery.reports import Notes
from recovery.scene import Scene
from statemachine.failpoints import reach
from store import workers
from store.workers import Worker
from workspace.agents.hosts import Host, gone

# The rows by which passes under way in this process take leases. A lease under another one was left by a pass that
# could not give it back.
UNDER_WAY: Final[set[int]] = set()


def bury_workers(scene: Scene, _notes: Notes) -> None:
    """Find the processes of this host that are no more: their leases are dead at once, on every host.

    A process that is gone while its sign of life is held is left alone: somebody is mistaken, and leases end.
    """
    with scene.database.connection() as db:
        lost = [each.id for each in workers.present(db, host=scene.host.id) if _is_gone(scene, each)]
    if not lost:
        return
    with scene.database.session() as db:
        scene.dead.update(each for each in lost if workers.lock_is_free(db, each))
    with scene.writing() as db:
        workers.bury(db, sorted(scene.dead))
    reach("workers_buried")


def _is_gone(scene: Scene, worker: Worker) -> bool:
    process = Host(id=worker.host, boot=worker.boot_id, pid=worker.pid, started=worker.started)
    if process == scene.host:
        return not worker.kinds and worker.id not in UNDER_WAY
    return gone(process)
