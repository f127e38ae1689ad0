"""Repositories: a person's own, registered once by path."""

# ruff: noqa: PLC0415 - as in cli.tasks

import click

from cli.frame.context import Context
from cli.frame.options import command


@command(example=["tasks repo add .", "tasks repo add ~/src/project --name project --target /srv/git/project.git"])
@click.argument("path", metavar="PATH")
@click.option("--name", help="How you want to call it; without it, the folder's name.")
@click.option("--target", metavar="PATH", help="Where merges go; without it, to the repository itself.")
@click.option(
    "--raw-attributes", is_flag=True, help="Take files as the repository stores them, whatever .gitattributes."
)
def add(context: Context, *, path: str, name: str | None, target: str | None, raw_attributes: bool) -> None:
    """Register a repository by path or URL."""
    from shlex import quote

    from cli.pages import nouns
    from statemachine.texts import one_line
    from worker.additions import add_repository

    row = add_repository(
        context.database,
        context.root,
        path=path,
        name=name,
        target=target,
        raw_attributes=raw_attributes,
        actor=context.actor,
    )
    if context.flags.json:
        context.screen.document(nouns.repository(row, context.settings.root))
    context.screen.say(f"repository {one_line(row.name)} is registered; merges go to {one_line(row.target, 300)}")
    context.screen.next_step(f"tasks run PLAN --repo {quote(row.name)} --agent 'COMMAND'")


@command(example="tasks repo list")
def list_repositories(context: Context) -> None:
    """Show the registered repositories."""
    from cli.pages import nouns
    from statemachine.texts import one_line
    from store import repositories

    with context.database.connection() as db:
        rows = repositories.listing(db)
    if context.flags.json:
        context.screen.document([nouns.repository(row, context.settings.root) for row in rows])
    elif rows:
        cells = ((one_line(row.name), one_line(row.source, 300), one_line(row.target, 300)) for row in rows)
        context.screen.table(("name", "source", "target"), cells)
    else:
        context.screen.say("no repository is registered")
        context.screen.next_step("tasks repo add PATH")


@command(example="tasks repo show project")
@click.argument("name", metavar="NAME|PATH")
def show(context: Context, *, name: str) -> None:
    """Show one repository and its policy."""
    from cli.frame.documents import as_json
    from cli.frame.screen import when
    from cli.pages import boards, nouns
    from cli.pages.portraits import aligned
    from statemachine.texts import one_line

    with context.database.connection() as db:
        row = boards.named(db, name)
    document = nouns.repository(row, context.settings.root)
    context.screen.document(document)
    shown = {
        **document,
        "raw_attributes": "yes" if row.raw_attributes else "no",
        "policy": as_json(row.policy) if row.policy else "as it comes",
        "added_at": when(row.added_at),
    }
    facts = ((key.replace("_", " "), one_line(str(value), 500)) for key, value in shown.items())
    context.screen.text(*aligned(facts, indent=""))
