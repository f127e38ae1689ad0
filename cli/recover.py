"""Recovery: put every task whose worker is gone where a worker or a person can act."""

# ruff: noqa: PLC0415 - as in cli.tasks

from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.exits import Exit
from cli.frame.options import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cli.pages.report_schemas import RecoveryDocument, RepairDocument
    from recovery.reports import Line


@command(example=["tasks recover", "tasks recover --dry-run"])
@click.option("--dry-run", is_flag=True, help="Say what would be done and change nothing.")
def recover(context: Context, *, dry_run: bool) -> Exit:
    """Repair what dead workers left behind."""
    from cli.acts import working

    report = working.once(context, dry_run=dry_run)
    screen = context.screen
    told: RecoveryDocument = {
        "dry_run": report.dry_run,
        "complete": report.complete,
        "lines": [_document(line) for line in report.lines],
        "unknown": [_document(line) for line in report.unknown],
        "unfinished": [_document(line) for line in report.unfinished],
    }
    screen.document(told)
    if dry_run and report.lines:
        screen.text("nothing was changed; a pass would say:")
    screen.text(*map(working.as_text, report.lines))
    if report.unknown:
        screen.text("not ours to touch:", *_listed(report.unknown))
    if not report.lines and report.complete:
        screen.say("nothing is left to recover")
    if report.unfinished:
        screen.text("not recovered yet:", *_listed(report.unfinished))
        screen.next_step("tasks recover", "tasks doctor")
        return Exit.waits
    screen.next_step("tasks recover" if dry_run and report.lines else "tasks work")
    return Exit.done


def _document(line: "Line") -> "RepairDocument":
    return {"task": line.task, "what": line.what, "detail": line.detail, "hint": line.hint}


def _listed(lines: "Iterable[Line]") -> "Iterator[str]":
    """Say what a person may have to do something about: what it is, its code, and below what could be done."""
    from cli.acts import working
    from statemachine.texts import one_line

    for line in lines:
        yield f"  {working.as_text(line)} [{line.what}]"
        if line.hint:
            yield f"    {one_line(line.hint, 1_000)}"
