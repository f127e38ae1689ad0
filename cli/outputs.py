"""Outputs: what an attempt made that nobody committed, to be read or taken up by a person."""

# ruff: noqa: PLC0415 - as in cli.tasks

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.identifiers import Id, Noun, Number, Prefix, full, short
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.pages.report_schemas import AppliedDocument, OutputDocument

ATTEMPT = Id(Noun.attempt, Noun.task)


@command(example=["tasks output show a-1f09c2", "tasks output show 12 --patch > unfinished.patch"])
@click.argument("attempt", type=ATTEMPT, metavar="ID")
@click.option("--patch", is_flag=True, help="The exact patch, for `git apply`, and nothing else.")
def show(context: Context, *, attempt: Number | Prefix, patch: bool) -> None:
    """Show what an attempt made that was not committed.

    A task's number stands for its latest attempt.
    """
    from cli.acts import leavings
    from cli.pages import diffs

    found = leavings.find(context, attempt)
    text = leavings.patch(context, found) if patch else leavings.readable(found)
    if context.flags.json:
        told: OutputDocument = {
            "attempt": full(Noun.attempt, found.attempt.id),
            "task": found.attempt.task_id,
            "base": found.attempt.base,
            "path": found.saved.path if found.saved else None,
            "diff": diffs.as_text(text),
        }
        context.screen.document(told)
    elif patch:
        context.screen.raw(text)
    else:
        name = short(Noun.attempt, found.attempt.id)
        context.screen.say(f"what attempt {name} left, against {found.attempt.base[:12]}; nobody judged it")
        diffs.show(context.screen, text)
        context.screen.next_step(f"tasks output apply {name} --to FOLDER")


@command(example="tasks output apply a-1f09c2 --to ../shop")
@click.argument("attempt", type=ATTEMPT, metavar="ID")
@click.option(
    "--to", "folder", type=click.Path(path_type=Path), default=".", show_default=True, help="The checkout to change."
)
def apply(context: Context, *, attempt: Number | Prefix, folder: Path) -> None:
    """Apply it to a folder of your own.

    Nothing is staged or committed. Refused while a finding about this attempt is owed or was accepted: what is unsafe
    is not carried on.
    """
    from cli.acts import leavings
    from workspace.results import partials

    found = leavings.find(context, attempt)
    leavings.refuse_unsafe(context, found)
    partials.apply(leavings.patch(context, found), folder)
    told: AppliedDocument = {"attempt": full(Noun.attempt, found.attempt.id), "folder": str(folder.resolve())}
    context.screen.document(told)
    context.screen.say(f"applied to {folder}; nobody judged it, so look at it before you commit it")
    context.screen.next_step("git diff")
