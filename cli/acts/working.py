"""What `tasks run` and `tasks work` share: a worker's settings, its recovery, and what its executors do not protect."""

import os
import socket
from collections.abc import Callable, Iterable
from datetime import timedelta

from cli.frame.context import Context
from recovery.judging import Tree
from recovery.passes import recover
from recovery.reports import Line, Report
from statemachine.attempts import AttemptKind
from statemachine.texts import one_line
from store.settlements import Report as Settlement
from worker import conclusions, judging
from worker.settings import WorkSettings
from workspace import executors as known
from workspace.agents.endings import Ending
from workspace.inspection.inspections import Inspection
from workspace.results.commits import Identity

POLL = timedelta(seconds=1)


def settings(
    context: Context,
    *,
    executors: tuple[str, ...],
    slots: int,
    kinds: tuple[AttemptKind, ...] = tuple(AttemptKind),
    grace: timedelta | None = None,
) -> WorkSettings:
    """Build a worker's settings from ours."""
    ours = context.settings
    return WorkSettings(
        name=f"{ours.actor}@{socket.gethostname()}:{os.getpid()}",
        slots=slots,
        lease=ours.lease,
        poll=POLL,
        grace=grace or ours.grace,
        kinds=kinds,
        executors=executors,
        agents=ours.agents,
        confinement=ours.sandbox,
        identity=(ours.identity.name, ours.identity.email),
    )


def recovery(context: Context, say: Callable[[str], None]) -> Callable[[Callable[[], bool]], Report]:
    """Give a worker what it does first and now and then: a brief pass beside its claims.

    What a pass leaves unfinished is said, once and not every time it is still so.
    """
    told: set[str] = set()

    def one_pass(stopping: Callable[[], bool]) -> Report:
        report = once(context, brief=True, stopping=stopping)
        lines = {as_text(line) for line in report.unfinished}
        for line in sorted(lines - told):
            say(f"not recovered yet: {line}")
        told.clear()
        told.update(lines)
        return report

    return one_pass


def once(
    context: Context, *, dry_run: bool = False, brief: bool = False, stopping: Callable[[], bool] = lambda: False
) -> Report:
    """Make one recovery pass."""
    return recover(
        context.database,
        context.root,
        actor=context.actor,
        identity=Identity(context.settings.identity.name, context.settings.identity.email),
        conclude=conclude,
        dry_run=dry_run,
        brief=brief,
        stopping=stopping,
    )


def conclude(
    tree: Tree, inspected: Inspection, blank: Settlement, *, ending: Ending | None, may_commit: bool
) -> Settlement:
    """Judge for recovery by the rules of a worker: the two floors do not know each other."""
    theirs = judging.Tree(
        attempt=tree.attempt,
        item=tree.item,
        repository=tree.repository,
        executor=tree.executor,
        place=tree.place,
        folder=tree.folder,
        date=tree.date,
        identity=tree.identity,
        permits=tree.permits,
        dry_run=tree.dry_run,
    )
    return conclusions.conclude(theirs, inspected, blank, ending=ending, may_commit=may_commit)


def as_text(line: Line) -> str:
    """Say one line of a pass."""
    return one_line(line.detail, 1_000)


def probe(settings: WorkSettings) -> None:
    """Refuse to serve an executor that cannot work here, before a task is claimed for it."""
    for name in settings.executors:
        known.find(name, settings.confinement).probe()


def unprotected(executors: Iterable[str]) -> list[str]:
    """Say on one line of each executor that it does not protect this machine; the doctor says all of it."""
    lacks = [sentence for name in executors if (sentence := known.find(name).unprotected)]
    return [f"{sentence.partition(':')[0]}: see tasks doctor" for sentence in lacks]
