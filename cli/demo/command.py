"""The demo: the whole story on a generated repository, through the commands a person types."""

# ruff: noqa: PLC0415 - as in cli.tasks

import time
from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.exits import Exit, Failure, report
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.demo.page import Page
    from cli.demo.play import Play
    from cli.demo.schemas import DemoDocument
    from cli.demo.stage import Stage


@command(example=["tasks demo", "tasks demo --keep"])
@click.option("--keep", is_flag=True, help="Leave the folder of the demo where it is, to look around in it.")
def demo(context: Context, *, keep: bool) -> Exit:
    """Play the whole story on a generated repository."""
    from cli.demo.page import Page
    from cli.demo.play import Play
    from cli.demo.stage import raised

    _refuse_another_place(context)
    began = time.monotonic()
    page = Page(context.screen)
    with raised(keep=keep, actor=context.flags.actor) as stage:
        _introduce(page, stage)
        play = Play(stage, page)
        surprise = _surprise_in(play)
    told: DemoDocument = {
        "passed": not surprise,
        "surprise": surprise or None,
        "seconds": round(time.monotonic() - began, 1),
        "folder": str(stage.folder) if keep else None,
        "steps": play.steps,
    }
    context.screen.document(told)
    if surprise:
        report(_failure(surprise, stage), json=context.flags.json)
        return Exit.unexpected
    _conclude(page, stage, told["seconds"])
    return Exit.done


def _refuse_another_place(context: Context) -> None:
    given = {"--database-url": context.flags.database_url, "--root": context.flags.root}
    for flag, value in given.items():
        if value is not None:
            raise click.UsageError(f"{flag} does not go with the demo, which has a database and a root of its own")


def _surprise_in(play: "Play") -> str:
    """Play the story; return what went another way, or nothing."""
    from cli.demo import story
    from cli.demo.play import SurpriseError

    try:
        story.tell(play)
    except SurpriseError as surprise:
        return str(surprise)
    return ""


def _introduce(page: "Page", stage: "Stage") -> None:
    page.text(
        "A demo of Weighlock. What follows is real: a git repository, a PostgreSQL server, the commands you would "
        "type, and what they print. Only the agent is a script. Nothing of yours is touched: it all happens in "
        f"{stage.folder}, which {'stays' if stage.keep else 'is removed at the end'}. Ctrl-C ends it at any time."
    )


def _conclude(page: "Page", stage: "Stage", seconds: float) -> None:
    page.title(
        "That was it",
        "You saw one item committed as it was judged, one that left its files, one with two findings, a killed worker "
        f"that lost nothing, and a merge that somebody decided, all in {seconds:.0f} seconds. On a repository of "
        "your own:",
    )
    page.lines("", "    $ tasks plan init plan.yaml", "    $ tasks run plan.yaml --repo PATH --agent 'COMMAND'")
    if stage.keep:
        page.text("To look around in what was kept:")
        page.lines("", f"    $ cd {stage.folder}", f"    $ . ./{stage.variables_file}", "    $ tasks show 1")


def _failure(surprise: str, stage: "Stage") -> Failure:
    where = f"look around in {stage.folder}" if stage.keep else "tasks demo --keep, and look around in its folder"
    return Failure(exit=Exit.unexpected, code="demo_surprised", message=f"the demo went wrong: {surprise}", hint=where)
