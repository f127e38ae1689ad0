"""What `tasks run` and `tasks work` share: a worker's settings, its recovery, and what its executors do not protect."""

import os
import socket
from collections.abc import Callable, Iterable
from datetime import timedelta

from cli.frame.context import Context
from recovery.passes import recover
from recovery.reports import Line, Report
from statemachine.attempts import AttemptKind
from statemachine.texts import one_line
from worker.settings import WorkSettings
from workspace import executors as known
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
        identity=(ours.identity.name, ours.identity.email),
    )


def recovery(context: Context, say: Callable[[str], None]) -> Callable[[Callable[[], bool]], Report]:
    """Give a worker what it does first and now and then: the same pass as `tasks recover`.

    What a pass leaves unfinished is said, once and not every time it is still so.
    """
    told: set[str] = set()

    def one_pass(stopping: Callable[[], bool]) -> Report:
        report = once(context, stopping=stopping)
        lines = {as_text(line) for line in report.unfinished}
        for line in sorted(lines - told):
            say(f"not recovered yet: {line}")
        told.clear()
        told.update(lines)
        return report

    return one_pass


def once(context: Context, *, dry_run: bool = False, stopping: Callable[[], bool] = lambda: False) -> Report:
    """Make one recovery pass."""
    signs = Identity(context.settings.identity.name, context.settings.identity.email)
    return recover(
        context.database, context.root, actor=context.actor, identity=signs, dry_run=dry_run, stopping=stopping
    )


def as_text(line: Line) -> str:
    """Say one line of a pass."""
    where = f"task {line.task}: " if line.task is not None else ""
    detail = f": {one_line(line.detail, 500)}" if line.detail else ""
    return f"{where}{line.what}{detail}"


def unprotected(executors: Iterable[str]) -> list[str]:
    """Say on one line of each executor that it does not protect this machine; the doctor says all of it."""
    lacks = [sentence for name in executors if (sentence := known.find(name).unprotected)]
    return [f"{sentence.partition(':')[0]}: see tasks doctor" for sentence in lacks]
