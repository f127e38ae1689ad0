"""The database: its schema, its address, and a shell on it."""

# ruff: noqa: PLC0415 - as in cli.tasks

from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.exits import Exit
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.acts.databases import Place
    from cli.pages.report_schemas import DriftDocument, SchemaDocument, ScriptDocument, ShellDocument, UrlDocument


@command(example=["tasks db upgrade", "tasks db upgrade --sql"])
@click.option("--sql", is_flag=True, help="Print what would be run on an empty database, and run nothing.")
def upgrade(context: Context, *, sql: bool) -> None:
    """Bring the schema to this version."""
    from cli.acts.databases import place
    from store import upgrades

    if sql:
        script = upgrades.upgrade_sql()
        written: ScriptDocument = {"sql": script}
        context.screen.document(written)
        context.screen.raw(script.encode())
        return
    at = place(context)
    before = upgrades.current(at.owner)
    upgrades.upgrade(at.owner)
    context.screen.document(_schema(at, before, upgrades.newest()))
    done = "was up to date" if before == upgrades.newest() else f"went from {before or 'nothing'}"
    context.screen.say(f"the schema of {at.where} {done}: it is {upgrades.newest()}")


@command(example="tasks db downgrade --to base --yes")
@click.option("--to", metavar="REVISION", required=True, help="The revision to go back to; base takes all away.")
@click.option("--yes", is_flag=True, help="Yes: rows that only the newer schema can hold are lost.")
def downgrade(context: Context, *, to: str, yes: bool) -> None:
    """Take the schema back to an older version."""
    from cli.acts.databases import place
    from store import upgrades

    if not yes:
        raise click.UsageError("this loses rows; say --yes if that is meant", click.get_current_context())
    at = place(context)
    before = upgrades.current(at.owner)
    upgrades.downgrade(at.owner, to=to)
    context.screen.document(_schema(at, before, upgrades.current(at.owner)))
    context.screen.say(f"the schema of {at.where} went from {before or 'nothing'} to {to}")
    context.screen.next_step("tasks db upgrade")


@command(example="tasks db current")
def current(context: Context) -> None:
    """Show the version of the schema."""
    from cli.acts.databases import place
    from store import upgrades

    at = place(context)
    found = upgrades.current(at.owner)
    context.screen.document(_schema(at, found, found))
    context.screen.text(f"{found or 'nothing'} ({at.where})")
    if found != upgrades.newest():
        context.screen.say(f"this version of the program wants {upgrades.newest()}")
        context.screen.next_step("tasks db upgrade")


@command(example="tasks db check")
def check(context: Context) -> Exit:
    """Compare the schema with what this version expects."""
    from cli.acts.databases import place
    from store import upgrades

    at = place(context)
    found = upgrades.check(at.owner)
    told: DriftDocument = {"schema": upgrades.newest(), "differences": found, "database": at.where}
    context.screen.document(told)
    if found:
        context.screen.text(f"the schema of {at.where} is not what {upgrades.newest()} asks for:")
        context.screen.text(*(f"  {each}" for each in found))
        return Exit.unavailable
    context.screen.say(f"the schema of {at.where} is exactly {upgrades.newest()}")
    return Exit.done


@command(example=["tasks db url", 'psql "$(tasks db url)"'])
def url(context: Context) -> None:
    """Show the URL of the database, password included."""
    from cli.acts.databases import place

    at = place(context)
    told: UrlDocument = {"url": at.url, "embedded": at.embedded}
    context.screen.document(told)
    context.screen.text(at.url)
    if at.embedded:
        context.screen.warn("the embedded server answers only while a tasks command runs; tasks db shell keeps it up")


@command(example=["tasks db shell", "tasks db shell -- -c 'SELECT * FROM task_event'"])
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS]")
def shell(context: Context, *, arguments: tuple[str, ...]) -> None:
    """Open psql on the database; with --json, say what would be run."""
    from cli.acts.databases import place, psql, talk

    program, line, environment = psql(place(context), arguments)
    if context.flags.json:
        told: ShellDocument = {"program": program, "arguments": line, "environment": sorted(environment)}
        context.screen.document(told)
        return
    click.get_current_context().exit(talk(program, line, environment))


def _schema(at: "Place", before: str | None, now: str | None) -> "SchemaDocument":
    from store.versions import known_versions

    return {"database": at.where, "schema": now, "before": before, "newest": known_versions()[-1]}
