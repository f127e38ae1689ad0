"""Write the command reference from the commands themselves: `python -m cli.reference [--write]`."""

import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from cli.commands import COMMANDS, Entry, Family
from cli.frame.options import COMMON
from cli.main import load, program

BEGIN: Final = "<!-- commands: begin; written by `make reference` -->"
END: Final = "<!-- commands: end -->"
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "cli.md"


def reference() -> str:
    """Give the whole generated part of the page, markers included."""
    blocks = [BEGIN, *_shared()]
    for entry in COMMANDS:
        match entry:
            case Family(name, sentence, verbs):
                blocks += [f"### tasks {name}", sentence]
                for verb in verbs:
                    blocks += _command(f"{name} {verb.name}", verb, level=4)
            case Entry(name):
                blocks += _command(name, entry, level=3)
    return "\n\n".join([*blocks, END])


def page_with(text: str, generated: str) -> str:
    """Put the generated part in its place on the page."""
    before, rest = text.split(BEGIN)
    return before + generated + rest.split(END)[1]


def _shared() -> Iterator[str]:
    yield "### Every command"
    yield "These options belong to every command and are not repeated below."
    yield from _options(COMMON, click.Context(program))


def _command(name: str, entry: Entry, *, level: int) -> Iterator[str]:
    yield f"{'#' * level} tasks {name}"
    if find_spec(entry.target.partition(":")[0]) is None:
        yield entry.help
        return
    command = load(entry)
    with click.Context(command, info_name=f"tasks {name}") as ctx:
        yield inspect.cleandoc(command.help or "").replace("\b\n", "")
        yield "```\n" + " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)]) + "\n```"
        yield from _options([option for option in command.params if option not in COMMON], ctx)
        yield _example(command)


def _options(options: Iterable[click.Parameter], ctx: click.Context) -> Iterator[str]:
    records = [record for option in options if (record := option.get_help_record(ctx))]
    rows = [f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in records if meaning]
    if rows:
        yield "\n".join(["| option | meaning |", "| --- | --- |", *rows])


def _example(command: click.Command) -> str:
    lines = inspect.cleandoc((command.epilog or "").removeprefix("\b\nExample:\n"))
    return f"For example:\n\n```sh\n{lines}\n```"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), reference()), encoding="utf-8")
    else:
        sys.stdout.write(reference() + "\n")
