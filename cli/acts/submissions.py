"""New tasks: added for a worker, or added and worked on at once."""

# ruff: noqa: PLC0415 - as in cli.tasks

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from cli.frame.context import Context
from cli.frame.exits import RESTS, Exit
from cli.frame.options import command
from statemachine.refusals import Refusal

if TYPE_CHECKING:
    from store.tasks import Task

Function = Callable[..., Any]


class Time(click.ParamType[datetime]):
    """Take a time; without a zone it is meant here."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read the text of one option."""
        try:
            return value if isinstance(value, datetime) else datetime.fromisoformat(str(value)).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"{value!r}: wanted a time such as 2030-01-31T18:00 or 2030-01-31T18:00Z", param, ctx)


def of_a_task(function: Function) -> Function:
    """Give a command what a new task is made of."""
    options = (
        click.argument("plan", metavar="PLAN"),
        click.option("--repo", required=True, metavar="NAME|PATH", help="A repository by name, or any by its path."),
        click.option("--agent", metavar="CMD", help="A command, or the name of one in the settings; beats the plan's."),
        click.option("--executor", metavar="NAME", help="Where the agent runs. [TASKS_EXECUTOR]"),
    )
    for option in reversed(options):
        function = option(function)
    return function


@command(example=["tasks add plan.yaml --repo .", "tasks add - --repo project --agent claude --json <plan.yaml"])
@of_a_task
@click.option("--not-before", type=Time(), help="When it may start at the earliest.")
@click.option("--priority", type=click.IntRange(-1000, 1000), default=0, help="A higher one is claimed first.")
def add(
    context: Context,
    *,
    plan: str,
    repo: str,
    agent: str | None,
    executor: str | None,
    not_before: datetime | None,
    priority: int,
) -> None:
    """Create a task from a plan."""
    from cli.pages import standings

    task = added(
        context, plan=plan, repo=repo, agent=agent, executor=executor, not_before=not_before, priority=priority
    )
    with context.database.connection() as db:
        view = standings.look(db, task.id)
    standings.tell(context, view)


@command(example="tasks run plan.yaml --repo . --agent 'my-agent --file {prompt_file}'")
@of_a_task
def run(context: Context, *, plan: str, repo: str, agent: str | None, executor: str | None) -> Exit:
    """Add a plan and work on its task until it rests."""
    from cli.acts import working
    from cli.pages import standings
    from cli.pages.progress import Progress
    from worker.service import work

    task = added(context, plan=plan, repo=repo, agent=agent, executor=executor)
    context.screen.say(f"task {task.id} is added", *working.unprotected([task.executor]))
    settings = working.settings(context, executors=(task.executor,), slots=1)
    with Progress(context.screen) as progress:
        work(
            context.database,
            context.root,
            settings,
            recover=working.recovery(context, progress.tell),
            say=progress.tell,
            task=task.id,
        )
    with context.database.connection() as db:
        view = standings.look(db, task.id)
    standings.tell(context, view, items=True)
    return RESTS.get(view.task.state, Exit.interrupted)


def added(
    context: Context,
    *,
    plan: str,
    repo: str,
    agent: str | None,
    executor: str | None,
    not_before: datetime | None = None,
    priority: int = 0,
) -> "Task":
    """Add the task; the problems of its plan are told with their lines."""
    from cli.plan_files import input as given
    from store import repositories
    from worker.additions import add_task, missing_branch

    file = given.read(plan)
    if not (agent or file.plan.agent):
        raise Refusal(
            "agent_missing",
            "neither the plan nor the command line names an agent",
            hint=f"{context.command} {quote(plan)} --repo {quote(repo)} --agent 'COMMAND'",
        )
    with given.located(file):
        task = add_task(
            context.database,
            context.root,
            plan=replace(file.plan, agent=agent) if agent else file.plan,
            repository=repo,
            executor=executor or context.settings.executor,
            confinement=context.settings.sandbox,
            actor=context.actor,
            agents=context.settings.agents,
            folder=Path.cwd() if agent else given.folder(plan),
            not_before=not_before,
            priority=priority,
        )
    with context.database.connection() as db:
        target = repositories.get(db, task.repository_id).target
    if note := missing_branch(target, task.target):
        context.screen.warn(note)
    return task
