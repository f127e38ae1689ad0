"""A worker: recover, then claim and run."""

# ruff: noqa: PLC0415 - as in cli.tasks

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.durations import DURATION
from cli.frame.options import command
from cli.frame.settings import MOST_SLOTS
from statemachine.attempts import AttemptKind
from statemachine.refusals import Refusal

if TYPE_CHECKING:
    from cli.pages.report_schemas import WorkDocument


def _kinds(_: click.Context, __: click.Parameter, text: str | None) -> tuple[AttemptKind, ...]:
    words = _words(text)
    wrong = [word for word in words if word not in set(AttemptKind)]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is none of {', '.join(AttemptKind)}")
    return tuple(AttemptKind(word) for word in words) or tuple(AttemptKind)


def _executors(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...]:
    return _words(text)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


@command(example=["tasks work", "tasks work --once", "tasks work --slots 4 --kinds execute,fix"])
@click.option("--slots", type=click.IntRange(1, MOST_SLOTS), help="Tasks run at once. [TASKS_SLOTS]")
@click.option("--kinds", callback=_kinds, metavar="KIND,...", help="Only work of these kinds; without it, of all.")
@click.option("--executors", callback=_executors, metavar="NAME,...", help="Executors served. [TASKS_EXECUTOR]")
@click.option("--grace", type=DURATION, help="How long a stopping worker waits for its agents. [TASKS_GRACE]")
@click.option("--once", is_flag=True, help="Run until nothing is claimable, then end.")
def work(
    context: Context,
    *,
    slots: int | None,
    kinds: tuple[AttemptKind, ...],
    executors: tuple[str, ...],
    grace: timedelta | None,
    once: bool,
) -> None:
    """Claim tasks and run them."""
    from cli.acts import working
    from worker import service

    served = executors or (context.settings.executor,)
    settings = working.settings(
        context, executors=served, slots=slots or context.settings.slots, kinds=kinds, grace=grace
    )
    working.probe(settings)
    context.screen.say(f"worker {settings.name} serves {', '.join(served)}", *working.unprotected(served))
    service.work(
        context.database,
        context.root,
        settings,
        recover=working.recovery(context, context.screen.say),
        say=context.screen.say,
        once=once,
    )
    told: WorkDocument = {
        "worker": settings.name,
        "slots": settings.slots,
        "kinds": [kind.value for kind in kinds],
        "executors": list(served),
        "once": once,
    }
    context.screen.document(told)
    context.screen.say("the worker has ended")
    context.screen.next_step(*_next(context))


def _next(context: Context) -> tuple[str, ...]:
    """Name first what waits for a person; without the database, which may be why the worker ended, only the board."""
    from store import gates

    if context.flags.json or context.flags.quiet:
        return ()
    with suppress(Refusal), context.database.connection() as db:
        waiting = gates.listing(db, limit=2)
        if waiting:
            return ("tasks gate list" if len(waiting) > 1 else f"tasks gate show {waiting[0].task_id}", "tasks list")
    return ("tasks list",)
