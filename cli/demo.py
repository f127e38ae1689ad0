"""The demo: the whole story on a generated repository, through the commands a person types."""

# ruff: noqa: PLC0415 - as in cli.tasks

import time
from typing import TYPE_CHECKING, TypedDict

import click

from cli.context import Context
from cli.exits import Exit, Failure, report
from cli.options import command

if TYPE_CHECKING:
    from cli.demo_page import Page
    from cli.demo_play import Play, StepDocument
    from cli.demo_stage import Stage


class DemoDocument(TypedDict):
    """The story as it went; `folder` is null where it was removed, `surprise` says what went another way."""

    passed: bool
    surprise: str | None
    seconds: float
    folder: str | None
    steps: "list[StepDocument]"


@command(example=["tasks demo", "tasks demo --keep"])
@click.option("--keep", is_flag=True, help="Leave the folder of the demo where it is, to look around in it.")
def demo(context: Context, *, keep: bool) -> Exit:
    """Play the whole story on a generated repository."""
    from cli import demo_stage
    from cli.demo_page import Page
    from cli.demo_play import Play

    _refuse_another_place(context)
    began = time.monotonic()
    page = Page(context.screen)
    with demo_stage.folder(keep=keep, actor=context.flags.actor) as stage:
        _introduce(page, stage, keep=keep)
        play = Play(stage, page)
        surprise = _played(play, keep=keep)
    seconds = round(time.monotonic() - began, 1)
    told: DemoDocument = {
        "passed": surprise is None,
        "surprise": surprise,
        "seconds": seconds,
        "folder": str(stage.folder) if keep else None,
        "steps": play.steps,
    }
    context.screen.document(told)
    if surprise is not None:
        report(_failure(surprise, stage, keep=keep), json=context.flags.json)
        return Exit.unexpected
    _conclude(page, seconds)
    if keep:
        _say_where(page, stage)
    return Exit.done


def _refuse_another_place(context: Context) -> None:
    given = {"--database-url": context.flags.database_url, "--root": context.flags.root}
    for flag, value in given.items():
        if value is not None:
            raise click.UsageError(f"{flag} does not go with the demo, which has a database and a root of its own")


def _played(play: "Play", *, keep: bool) -> str | None:
    """Play the story; return what went another way."""
    from cli import demo_stage, demo_story
    from cli.demo_play import SurpriseError

    try:
        with demo_stage.database(play.stage, keep=keep):
            demo_story.tell(play)
    except SurpriseError as surprise:
        return str(surprise)
    return None


def _introduce(page: "Page", stage: "Stage", *, keep: bool) -> None:
    after = "stays when it ends" if keep else "is removed when it ends"
    page.text(
        "A demo of Weighlock. What follows is real: a git repository, a PostgreSQL server, the commands you would "
        f"type, and what they print. Only the agent is a script. It all happens in {stage.folder}, which {after}; "
        "nothing of yours is touched. Ctrl-C ends it at any time."
    )
    page.lines("", "Making the database; this takes a few seconds ...")


def _conclude(page: "Page", seconds: float) -> None:
    page.title("That was it", "")
    page.text(
        "You saw one item committed as it was judged, one stopped for leaving its files, one for two findings, a "
        f"killed worker that lost nothing, and a merge that somebody decided; all in {seconds:.0f} seconds."
    )
    page.lines(
        "",
        "On a repository of your own:",
        "",
        "    tasks plan init plan.yaml",
        "    tasks run plan.yaml --repo PATH --agent 'COMMAND'",
    )


def _say_where(page: "Page", stage: "Stage") -> None:
    from cli.demo_stage import VARIABLES

    page.lines(
        "",
        "To look around in what was kept:",
        "",
        f"    cd {stage.folder}",
        f"    . ./{VARIABLES}",
        "    tasks show 1",
    )


def _failure(surprise: str, stage: "Stage", *, keep: bool) -> Failure:
    hint = f"look around in {stage.folder}" if keep else "tasks demo --keep, and look around in the folder it names"
    return Failure(exit=Exit.unexpected, code="demo_surprised", message=f"the demo went wrong: {surprise}", hint=hint)
