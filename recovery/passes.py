"""A recovery pass: a tuple of repairs, each finding its own work and safe to repeat from anywhere."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Final

from recovery.interrupted import resume_interrupted
from recovery.limits import spend_out
from recovery.merges import reconcile
from recovery.references import repair_refs
from recovery.reports import Notes, Report
from recovery.scene import Scene
from recovery.storage import put_away
from statemachine.refusals import Refusal
from store import workers
from store.engine import Database
from workspace.commits import Identity
from workspace.hosts import Host, this_host
from workspace.roots import Root

Repair = Callable[[Scene, Notes], None]

REPAIRS: Final[tuple[Repair, ...]] = (resume_interrupted, spend_out, reconcile, put_away, repair_refs)


def recover(database: Database, root: Root, *, actor: str, identity: Identity, dry_run: bool = False) -> Report:
    """Put every interrupted, stopped or between-items task where a worker or a person can act.

    Safe to run twice, from many hosts, while workers work. One bad row is reported and never stops the rest.
    """
    host = this_host()
    registered: list[int] = []

    @cache
    def worker() -> int:
        registered.append(_register(database, host, actor))
        return registered[0]

    scene = Scene(database=database, root=root, host=host, actor=actor, identity=identity, worker=worker)
    notes = Notes(dry_run=dry_run)
    try:
        for repair in REPAIRS:
            _attempt(repair, scene, notes)
    finally:
        for row in registered:
            with suppress(Refusal), database.connection() as db:
                workers.leave(db, row)
    return notes.report()


def _attempt(repair: Repair, scene: Scene, notes: Notes) -> None:
    try:
        repair(scene, notes)
    except Refusal as refused:
        notes.left(None, refused.code, f"{repair.__name__}: {refused.message}")


def _register(database: Database, host: Host, actor: str) -> int:
    with database.connection() as db:
        return workers.register(
            db,
            name=actor,
            host=host.id,
            boot_id=host.boot,
            pid=host.pid,
            started=host.started,
            kinds=[],
            executors=[],
            slots=1,
        ).id
