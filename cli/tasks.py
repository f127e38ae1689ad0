"""Tasks: the board, one task, its history, and what a person does to it.

What a command needs is imported when it runs, so that its help and the shell's completion are quick.
"""

# ruff: noqa: PLC0415

from datetime import timedelta

import click

from cli.acts.results import diff, export
from cli.acts.submissions import add, run
from cli.frame.context import Context
from cli.frame.durations import DURATION
from cli.frame.identifiers import Id, Noun, Number, Prefix
from cli.frame.options import command
from statemachine.tasks import TaskState

__all__ = ["add", "cancel", "diff", "export", "list_tasks", "log", "retry", "run", "show", "stop"]

TASK = Id(Noun.task)


@command(example=["tasks list", "tasks list --state needs_human --json"])
@click.option("--state", type=click.Choice([state.value for state in TaskState]), help="Only tasks in this state.")
@click.option("--repo", metavar="NAME|PATH", help="Only tasks of this repository.")
@click.option("--before", type=TASK, metavar="ID", help="Only tasks older than this one: the next page.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Tasks on a page.")
def list_tasks(context: Context, *, state: str | None, repo: str | None, before: Number | None, limit: int) -> None:
    """Show the board of tasks."""
    from cli.pages import boards

    with context.database.connection() as db:
        board = boards.read(
            db,
            state=TaskState(state) if state else None,
            repository=repo,
            before=before.value if before else None,
            limit=limit,
        )
    boards.show(context, board)


@command(example="tasks show 12")
@click.argument("task", type=TASK, metavar="ID")
def show(context: Context, *, task: Number) -> None:
    """Show one task with its items, attempts and gate."""
    from cli.pages import standings

    with context.database.connection() as db:
        view = standings.look(db, task.value)
    standings.tell(context, view, full=True)


@command(example="tasks log 12")
@click.argument("task", type=TASK, metavar="ID")
def log(context: Context, *, task: Number) -> None:
    """Show the history of one task."""
    from cli.pages import history
    from store import attempts, tasks

    with context.database.connection() as db:
        lines = tasks.history(db, task.value)
        numbers = {each.id: each.number for each in attempts.listing(db, task.value)}
    if context.flags.json:
        from cli.pages import nouns

        context.screen.document([nouns.line(each) for each in lines])
        return
    for line in lines:
        context.screen.text(*history.told(line, numbers))


@command(example="tasks stop 12", changing=True)
@click.argument("task", type=TASK, metavar="ID")
def stop(context: Context, *, task: Number, if_version: int | None) -> None:
    """Stop the running attempt of a task."""
    from cli.pages import standings
    from store import interventions

    with context.database.transaction() as db:
        interventions.stop(db, task.value, actor=context.actor, if_version=if_version)
        view = standings.look(db, task.value)
    standings.tell(context, view)


@command(example="tasks cancel 12 --reason 'not needed any more'", changing=True)
@click.argument("task", type=TASK, metavar="ID")
@click.option("--reason", default="", help="Why; it is kept in the history.")
def cancel(context: Context, *, task: Number, reason: str, if_version: int | None) -> None:
    """Close a task without a result."""
    from cli.pages import standings
    from store import interventions

    with context.database.transaction() as db:
        interventions.cancel(db, task.value, actor=context.actor, reason=reason, if_version=if_version)
        view = standings.look(db, task.value)
    standings.tell(context, view)


@command(example=["tasks retry 12", "tasks retry 12 --budget 1h --guidance 'Leave the tests alone.'"], changing=True)
@click.argument("task", type=TASK, metavar="ID")
@click.option("--attempt", type=Id(Noun.attempt), metavar="ID", help="The attempt you want repeated.")
@click.option("--budget", type=DURATION, help="Time the task may run in all, from its first minute.")
@click.option("--retries", type=click.IntRange(min=0), help="How often a failed attempt runs again by itself.")
@click.option("--time-limit", type=DURATION, help="The agent's own limit on the next item.")
@click.option("--guidance", default="", help="A word to the agent; it becomes part of its prompt.")
@click.option("--reason", default="", help="Why; it is kept in the history.")
def retry(
    context: Context,
    *,
    task: Number,
    attempt: Prefix | None,
    budget: timedelta | None,
    retries: int | None,
    time_limit: timedelta | None,
    guidance: str,
    reason: str,
    if_version: int | None,
) -> None:
    """Queue a task again after its gate."""
    from cli.frame import lookup
    from cli.pages import standings
    from store import interventions
    from store.words import Word

    word = Word(
        actor=context.actor,
        reason=reason,
        if_version=if_version,
        budget=budget,
        retries=retries,
        time_limit=time_limit,
        guidance=guidance,
    )
    with context.database.transaction() as db:
        of = lookup.attempt_named(db, attempt, task=task.value).state if attempt else None
        interventions.retry(db, task.value, word, attempt=of)
        view = standings.look(db, task.value)
    standings.tell(context, view)
