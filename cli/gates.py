"""Gates: what waits for a person, why, and the person's word."""

# ruff: noqa: PLC0415 - as in cli.tasks

from datetime import timedelta

import click

from cli.frame.context import Context
from cli.frame.durations import DURATION
from cli.frame.identifiers import Id, Noun, Number, Prefix, short
from cli.frame.options import command
from statemachine.gates import GateKind

GATE = Id(Noun.gate, Noun.task)
"""A gate by its own name, or a task that waits at one."""


@command(example=["tasks gate list", "tasks gate list --kind finding --json"])
@click.option("--kind", type=click.Choice(list(GateKind)), help="Only gates of this kind.")
@click.option("--limit", type=click.IntRange(1, 5000), default=500, show_default=True, help="Gates shown.")
def list_gates(context: Context, *, kind: str | None, limit: int) -> None:
    """Show the open gates."""
    from cli.frame.screen import when
    from statemachine.texts import one_line
    from store import gates

    with context.database.connection() as db:
        rows = gates.listing(db, kind=GateKind(kind) if kind else None, limit=limit)
    if context.flags.json:
        from cli.pages import nouns

        context.screen.document([nouns.waiting(row) for row in rows])
    elif rows:
        for row in rows:
            name, title = short(Noun.gate, row.id), one_line(row.title)
            head = f"task {row.task_id} waits at a {row.kind} gate since {when(row.opened_at)} ({name})"
            context.screen.text(head, f"    {title}", f"    {one_line(row.reason, 300)}")
        context.screen.next_step(f"tasks gate show {rows[0].task_id}")
    else:
        context.screen.say(f"no gate of kind {kind} is open" if kind else "nothing waits for a person")


@command(example=["tasks gate show 12", "tasks gate show g-1f09c2"])
@click.argument("gate", type=GATE, metavar="ID")
def show(context: Context, *, gate: Number | Prefix) -> None:
    """Show why a gate is closed and what approving it will do."""
    from cli.pages import gate as page

    shown = page.read(context, gate)
    if context.flags.json:
        context.screen.document(page.document(shown, context.settings.root))
    else:
        page.tell(context.screen, shown)


@command(
    example=[
        "tasks gate approve 12",
        "tasks gate approve 12 --dismiss 3 --accept 4 --reason 'seen'",
        "tasks gate approve 12 --amend",
        "tasks gate approve 12 --budget 2h --guidance 'Leave the tests alone.'",
        "tasks gate approve 12 --then changes --guidance 'Keep the old name too.'",
    ],
    changing=True,
)
@click.argument("gate", type=GATE, metavar="ID")
@click.option("--accept", type=click.IntRange(min=1), multiple=True, metavar="ID", help="This finding was right.")
@click.option("--dismiss", type=click.IntRange(min=1), multiple=True, metavar="ID", help="This finding is harmless.")
@click.option("--dismiss-all", is_flag=True, help="Every finding not accepted is harmless.")
@click.option("--permit", is_flag=True, help="What is dismissed may happen again on the same item and files.")
@click.option("--then", type=click.Choice(["retry", "review", "changes"]), help="What follows; a retry if not said.")
@click.option("--amend", is_flag=True, help="Declare exactly the files that were outside the scope.")
@click.option("--budget", type=DURATION, help="Time the task may run in all, from its first minute.")
@click.option("--retries", type=click.IntRange(min=0), help="How often a failed attempt runs again by itself.")
@click.option("--time-limit", type=DURATION, help="The agent's own limit on the next item.")
@click.option("--guidance", default="", help="A word to the agent; it becomes part of its prompt.")
@click.option("--reason", default="", help="Why; it is kept with the decision.")
def approve(
    context: Context,
    *,
    gate: Number | Prefix,
    accept: tuple[int, ...],
    dismiss: tuple[int, ...],
    dismiss_all: bool,
    permit: bool,
    then: str | None,
    amend: bool,
    budget: timedelta | None,
    retries: int | None,
    time_limit: timedelta | None,
    guidance: str,
    reason: str,
    if_version: int | None,
) -> None:
    """Let a task pass its gate."""
    from cli.acts import verdicts

    given = {
        "accept": accept,
        "dismiss": dismiss,
        "dismiss_all": dismiss_all,
        "permit": permit,
        "then": then,
        "amend": amend,
        "budget": budget,
        "retries": retries,
        "time_limit": time_limit,
        "guidance": guidance,
    }
    verdicts.approve(context, gate, given, reason=reason, if_version=if_version)


@command(
    example=["tasks gate reject 12 --guidance 'Keep the old name.'", "tasks gate reject 12 --cancel"], changing=True
)
@click.argument("gate", type=GATE, metavar="ID")
@click.option("--cancel", "--close", is_flag=True, help="Close the task, where rejecting could send it back instead.")
@click.option("--guidance", default="", help="What should change; a word to the agent that runs next.")
@click.option("--reason", default="", help="Why; it is kept with the decision.")
def reject(
    context: Context, *, gate: Number | Prefix, cancel: bool, guidance: str, reason: str, if_version: int | None
) -> None:
    """Turn a task back at its gate."""
    from cli.acts import verdicts

    verdicts.reject(context, gate, {"cancel": cancel, "guidance": guidance}, reason=reason, if_version=if_version)
