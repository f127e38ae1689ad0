"""A recovery pass: a tuple of repairs, each finding its own work and safe to repeat from anywhere."""

from collections.abc import Callable
from typing import Final

from recovery.interrupted import resume_interrupted
from recovery.judging import Conclude
from recovery.leases import taking_leases
from recovery.limits import spend_out
from recovery.masses import requeue_lost
from recovery.merges import reconcile
from recovery.processes import bury_workers
from recovery.references import repair_refs
from recovery.reports import Notes, Report, told_to_end
from recovery.scene import Patience, Scene
from recovery.scraps import clear_scraps
from recovery.storage import put_away
from recovery.sweeping import name_unknown
from recovery.unjudged import judge_left
from statemachine.refusals import Unavailable
from store.engine import Database
from workspace.agents.hosts import this_host
from workspace.disk.roots import Root
from workspace.results.commits import Identity

Repair = Callable[[Scene, Notes], None]

REPAIRS: Final[tuple[Repair, ...]] = (
    bury_workers,
    requeue_lost,
    resume_interrupted,
    spend_out,
    reconcile,
    put_away,
    judge_left,
    repair_refs,
    clear_scraps,
    name_unknown,
)
# What a pass beside the claims judges at most; the next one comes in seconds.
TREES: Final = 4


def recover(
    database: Database,
    root: Root,
    *,
    actor: str,
    identity: Identity,
    conclude: Conclude,
    dry_run: bool = False,
    brief: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Put every interrupted, stopped or between-items task where a worker or a person can act.

    Safe to run twice, from many hosts, while workers work. One bad row is reported and never stops the rest; a
    database that goes away ends the pass, and the next one begins again. A dry run looks at the same and writes
    nothing. A brief pass is for beside the claims: it judges a few trees, repairs the refs of what was cut short,
    and leaves it to a whole one to go through every ref and folder. `stopping` is asked between any two rows.
    """
    host, notes = this_host(), Notes()
    with taking_leases(database, host, actor) as worker:
        scene = Scene(
            database=database,
            root=root,
            host=host,
            actor=actor,
            identity=identity,
            dry_run=dry_run,
            brief=brief,
            worker=worker,
            conclude=conclude,
            stopping=stopping,
            patience=Patience(trees=TREES if brief else None),
        )
        try:
            for repair in scene.until_stopped(REPAIRS):
                with notes.apart(None, f"{repair.__name__}: "):
                    repair(scene, notes)
            if stopping():
                raise told_to_end()
        except Unavailable as away:
            notes.left(None, away.code, away.message, hint=away.hint)
    return notes.report(dry_run=dry_run)
