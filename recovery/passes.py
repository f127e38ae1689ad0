"""A recovery pass: a tuple of repairs, each finding its own work and safe to repeat from anywhere."""

from collections.abc import Callable
from typing import Final

from recovery.interrupted import resume_interrupted
from recovery.leases import taking_leases
from recovery.limits import spend_out
from recovery.merges import reconcile
from recovery.references import repair_refs
from recovery.reports import Notes, Report
from recovery.scene import Scene
from recovery.storage import put_away
from statemachine.refusals import Unavailable
from store.engine import Database
from workspace.agents.hosts import this_host
from workspace.disk.roots import Root
from workspace.results.commits import Identity

Repair = Callable[[Scene, Notes], None]

REPAIRS: Final[tuple[Repair, ...]] = (resume_interrupted, spend_out, reconcile, put_away, repair_refs)


def recover(
    database: Database,
    root: Root,
    *,
    actor: str,
    identity: Identity,
    dry_run: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Put every interrupted, stopped or between-items task where a worker or a person can act.

    Safe to run twice, from many hosts, while workers work. One bad row is reported and never stops the rest; a
    database that goes away ends the pass, and the next one begins again. A dry run looks at the same and writes
    nothing. `stopping` is asked before every row: once it says so, the pass ends and says that it is unfinished.
    """
    host, notes = this_host(), Notes(stopping=stopping)
    with taking_leases(database, host, actor) as worker:
        scene = Scene(
            database=database, root=root, host=host, actor=actor, identity=identity, dry_run=dry_run, worker=worker
        )
        try:
            for repair in REPAIRS:
                with notes.apart(None, f"{repair.__name__}: "):
                    repair(scene, notes)
        except Unavailable as away:
            notes.left(None, away.code, away.message)
    return notes.report(dry_run=dry_run)
