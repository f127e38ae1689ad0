"""Attempts: what an agent printed, while it runs and afterwards."""

# ruff: noqa: PLC0415 - as in cli.tasks

from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.identifiers import Id, Noun, Number, Prefix
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.pages.report_schemas import AttemptLogDocument

ATTEMPT = Id(Noun.attempt, Noun.task)


@command(example=["tasks attempt log a-1f09c2", "tasks attempt log 12 --follow"])
@click.argument("attempt", type=ATTEMPT, metavar="ID")
@click.option("--follow", is_flag=True, help="Go on until the attempt has ended.")
def log(context: Context, *, attempt: Number | Prefix, follow: bool) -> None:
    """Show what an agent printed.

    A task's number stands for its latest attempt. On a terminal whatever could move it is escaped; into a file or a
    pipe goes what was printed, byte for byte.
    """
    from cli.acts import logs
    from cli.frame.identifiers import full

    if follow and context.flags.json:
        raise click.UsageError("--follow goes on and --json is one document", click.get_current_context())
    found = logs.find(context, attempt)
    if follow:
        logs.follow(context, found)
    elif context.flags.json:
        content = logs.whole(found)
        told: AttemptLogDocument = {
            "attempt": full(Noun.attempt, found.attempt.id),
            "task": found.attempt.task_id,
            "state": found.attempt.state,
            "path": str(found.path),
            "size": found.saved.size if found.saved else None,
            "truncated": found.saved.truncated if found.saved else False,
            "text": content.decode("utf-8", "backslashreplace"),
        }
        context.screen.document(told)
    else:
        logs.show(context, found)
