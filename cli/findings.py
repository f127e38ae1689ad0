"""Findings: read, recorded and decided by a person."""

# ruff: noqa: PLC0415 - as in cli.tasks

from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.identifiers import Id, Noun, Number, Prefix
from cli.frame.options import command
from statemachine.findings import FindingState
from statemachine.tasks import TaskState

if TYPE_CHECKING:
    from store.findings import Finding
    from store.tasks import Task

FINDING = Id(Noun.finding)
TASK = Id(Noun.task)


@command(example=["tasks finding list", "tasks finding list --task 12 --state open"])
@click.option("--task", type=TASK, metavar="ID", help="Only findings of this task.")
@click.option("--state", type=click.Choice(list(FindingState)), help="Only findings in this state.")
@click.option("--limit", type=click.IntRange(1, 5000), default=500, show_default=True, help="Findings shown.")
def list_findings(context: Context, *, task: Number | None, state: str | None, limit: int) -> None:
    """Show findings, the owed ones first."""
    from cli.pages import nouns
    from statemachine.texts import one_line
    from store import findings, tasks

    with context.database.connection() as db:
        only = tasks.get(db, task.value).id if task else None
        rows = findings.listing(db, task=only, state=FindingState(state) if state else None, limit=limit)
    if context.flags.json:
        context.screen.document([nouns.finding(row) for row in rows])
    elif rows:
        cells = (
            (row.id, row.task_id, row.state, "late" if row.late else "", row.kind, one_line(row.summary, 200))
            for row in rows
        )
        context.screen.table(("finding", "task", "state", "", "kind", "what was seen"), cells)
    else:
        context.screen.say("no findings")


@command(example="tasks finding show 3")
@click.argument("finding", type=FINDING, metavar="ID")
def show(context: Context, *, finding: Number) -> None:
    """Show one finding with its evidence."""
    from store import findings

    with context.database.connection() as db:
        row = findings.get(db, finding.value)
    _tell(context, row, asked_for=True)


@command(example="tasks finding add 12 --summary 'the new endpoint has no authentication'", changing=True)
@click.argument("task", type=TASK, metavar="TASK")
@click.option("--summary", required=True, help="What you saw.")
@click.option("--attempt", type=Id(Noun.attempt), metavar="ID", help="The attempt whose work it is about.")
def add(context: Context, *, task: Number, summary: str, attempt: Prefix | None, if_version: int | None) -> None:
    """Record a finding of your own on a task."""
    from cli.acts import judgements
    from cli.frame import lookup
    from store import tasks

    if not summary.strip():
        raise click.BadParameter("say what you saw", param_hint="--summary")
    with context.database.transaction() as db:
        tasks.lock(db, task.value, if_version=if_version)
        of = lookup.attempt_named(db, attempt, task=task.value) if attempt else None
        row = judgements.record(db, task.value, summary, attempt=of, actor=context.actor)
    _tell(context, row)


@command(example="tasks finding accept 3 --reason 'it deletes the audit log'", changing=True)
@click.argument("finding", type=FINDING, metavar="ID")
@click.option("--reason", required=True, help="Why; it is kept with the decision.")
def accept(context: Context, *, finding: Number, reason: str, if_version: int | None) -> None:
    """Decide that a finding was right."""
    from cli.acts import judgements

    with context.database.transaction() as db:
        row = judgements.accept(db, finding.value, actor=context.actor, reason=reason, if_version=if_version)
    _tell(context, row)


@command(example=["tasks finding dismiss 3 --reason 'a link to the docs'"], changing=True)
@click.argument("finding", type=FINDING, metavar="ID")
@click.option("--reason", required=True, help="Why; it is kept with the decision.")
@click.option("--permit", is_flag=True, help="Let the same thing pass on the same item and declared files from now on.")
def dismiss(context: Context, *, finding: Number, reason: str, permit: bool, if_version: int | None) -> None:
    """Decide that a finding is harmless."""
    from cli.acts import judgements

    with context.database.transaction() as db:
        row = judgements.dismiss(
            db, finding.value, actor=context.actor, reason=reason, permit=permit, if_version=if_version
        )
    _tell(context, row)


def _tell(context: Context, row: "Finding", *, asked_for: bool = False) -> None:
    """Print a finding, whole where it was asked for, and what to do next about it."""
    from cli.pages import finding as page
    from cli.pages import nouns

    if context.flags.json:
        context.screen.document(nouns.finding(row))
        return
    lines = page.lines(row)
    if asked_for:
        context.screen.text(*lines)
    else:
        context.screen.say(lines[0])
    waiting = _decided_all(context, row)
    if waiting is not None:
        context.screen.say(f"every finding of task {waiting.id} is decided; it waits for you to let it go on")
    context.screen.next_step(*page.next_steps(row, waiting))


def _decided_all(context: Context, row: "Finding") -> "Task | None":
    """Find the task of a decided finding if it waits at its gate and nothing else is to be decided there."""
    from store import tasks

    if row.state is FindingState.open:
        return None
    with context.database.connection() as db:
        task = tasks.get(db, row.task_id)
    return task if task.state is TaskState.needs_human and not task.owed_findings else None
