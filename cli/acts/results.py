"""The result of a task: its diff, and files to carry it elsewhere."""

# ruff: noqa: PLC0415 - as in cli.tasks

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

import click

from cli.frame.context import Context
from cli.frame.identifiers import Id, Noun, Number
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.pages.report_schemas import DiffDocument, ExportDocument

LIMIT: Final = 64 << 20
"""Bytes of a diff; past it the diff says that it is cut."""


@command(example=["tasks diff 12", "tasks diff 12 | less"])
@click.argument("task", type=Id(Noun.task), metavar="ID")
def diff(context: Context, *, task: Number) -> None:
    """Show the result of a task against its base."""
    from cli.pages import diffs, ranges
    from cli.pages.diffs import as_text
    from workspace.results import exports

    found = ranges.of_task(context, task.value)
    text = exports.diff(found.repository, found.base, found.head, limit=LIMIT) if found.head != found.base else b""
    if context.flags.json:
        told: DiffDocument = {"task": task.value, "base": found.base, "head": found.head, "diff": as_text(text)}
        context.screen.document(told)
    elif text:
        diffs.show(context.screen, text)
    else:
        context.screen.say(_nothing(context, task.value))


def _nothing(context: Context, task: int) -> str:
    from cli.pages.views import look

    with context.database.connection() as db:
        unchanged = look(db, task).unchanged
    if unchanged:
        return f"task {task} changed nothing: every item is done and left all files as they were"
    return f"task {task} has no commit yet"


@command(
    example=["tasks export 12 --format patch | git am --keep-cr", "tasks export 12 --format bundle --output 12.bundle"]
)
@click.argument("task", type=Id(Noun.task), metavar="ID")
@click.option("--format", "form", type=click.Choice(["patch", "bundle"]), required=True, help="What to write.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Where to; without it, to stdout.")
def export(context: Context, *, task: Number, form: str, output: Path | None) -> None:
    """Write the result of a task as patches or a bundle."""
    from cli.frame import files
    from cli.pages import ranges
    from cli.pages.diffs import as_text
    from workspace.results import exports

    if output is None and form == "bundle":
        raise click.UsageError("a bundle needs --output FILE", click.get_current_context())
    found = ranges.of_task(context, task.value)
    told: ExportDocument = {
        "task": task.value,
        "base": found.base,
        "head": found.head,
        "format": form,
        "path": None,
        "patch": None,
    }
    if output is None:
        patches = exports.patches(found.repository, found.base, found.head)
        context.screen.document({**told, "patch": as_text(patches)})
        context.screen.raw(patches)
        return
    with files.new(output) as path:
        if form == "bundle":
            exports.bundle(found.repository, found.base, found.head, path)
        else:
            files.write(path, exports.patches(found.repository, found.base, found.head))
    context.screen.document({**told, "path": str(path)})
    context.screen.say(f"wrote {path}")
    context.screen.next_step(
        f"git am --keep-cr {quote(str(path))}" if form == "patch" else f"git fetch {quote(str(path))} weighlock"
    )
