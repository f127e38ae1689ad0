"""Merges: bring an approved result to its target."""

# ruff: noqa: PLC0415 - as in cli.tasks

from typing import Final

import click

from cli.frame.context import Context
from cli.frame.exits import Exit, failure_of, report
from cli.frame.identifiers import Id, Noun, Number
from cli.frame.options import command
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState

STRATEGIES: Final = ("ff",)
ENDS: Final = {TaskState.merge_blocked: Exit.merge_blocked, TaskState.needs_human: Exit.waits}


@command(example=["tasks merge 12", "tasks merge 12 --strategy ff --json"], changing=True)
@click.argument("task", type=Id(Noun.task), metavar="ID")
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), help="The shape of the merge; there is only fast-forward yet."
)
def merge(context: Context, *, task: Number, strategy: str | None, if_version: int | None) -> Exit:
    """Bring an approved result to its target."""
    from cli.pages import standings
    from worker import landing

    refused = None
    with context.database.connection() as db:
        before = standings.look(db, task.value)
    try:
        landing.merge(
            context.database,
            context.root,
            task.value,
            actor=context.actor,
            strategy=strategy,
            if_version=if_version,
            author_may_approve=context.settings.database_url is None,
            said=context.screen.say,
        )
    except Refusal as refusal:
        refused = refusal
    with context.database.connection() as db:
        after = standings.look(db, task.value)
    if refused and after.task.version == before.task.version:
        raise refused
    if after.unchanged and after.task.state is TaskState.merged:
        context.screen.say("nothing was changed, so there was nothing to merge")
    standings.tell(context, after)
    if refused is None:
        return ENDS.get(after.task.state, Exit.done)
    # It was begun: what became of the task is the result of this command, and the refusal is the reason.
    failure = failure_of(refused)
    report(failure, json=context.flags.json)
    return ENDS.get(after.task.state, failure.exit)
