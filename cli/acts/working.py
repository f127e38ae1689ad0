"""What `tasks run` and `tasks work` share: a worker's settings, its recovery, and what its executors do not protect."""

import os
import socket
from collections.abc import Callable, Iterable
from datetime import timedelta

from cli.frame.context import Context
from recovery.passes import recover
from recovery.reports import Report
from statemachine.attempts import AttemptKind
from worker.settings import WorkSettings
from workspace import executors as known
from workspace.results.commits import Identity

POLL = timedelta(seconds=1)


def settings(
    context: Context, *, executors: tuple[str, ...], slots: int, kinds: tuple[AttemptKind, ...] = tuple(AttemptKind)
) -> WorkSettings:
    """Build a worker's settings from ours."""
    ours = context.settings
    return WorkSettings(
        name=f"{ours.actor}@{socket.gethostname()}:{os.getpid()}",
        slots=slots,
        lease=ours.lease,
        poll=POLL,
        grace=ours.grace,
        kinds=kinds,
        executors=executors,
        agents=ours.agents,
        identity=(ours.identity.name, ours.identity.email),
    )


def recovery(context: Context) -> Callable[[], Report]:
    """Give a worker what it does first and now and then: the same pass as `tasks recover`."""
    return lambda: once(context)


def once(context: Context, *, dry_run: bool = False) -> Report:
    """Make one recovery pass."""
    signs = Identity(context.settings.identity.name, context.settings.identity.email)
    return recover(context.database, context.root, actor=context.actor, identity=signs, dry_run=dry_run)


def unprotected(executors: Iterable[str]) -> list[str]:
    """Say of each executor what it does not keep an agent from doing."""
    return [sentence for name in executors if (sentence := known.find(name).unprotected)]
