"""One decorator for every command: the options all of them share, and the context made from them.

    @command(example="tasks list --state needs_human")
    @click.option("--state", help="Only tasks in this state.")
    def list_tasks(context: Context, *, state: str | None) -> None:
        '''Show the board of tasks.'''

The first line of the docstring is the sentence of the table in `cli.commands`. What a command returns is its exit
code; nothing is 0. A changing command is given `if_version` too.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import click

from cli.frame.context import Context, Flags
from cli.frame.exits import Exit

COMMON: Final = (
    click.Option(["as_json", "--json"], is_flag=True, help="Print one JSON document and nothing else."),
    click.Option(["--database-url"], metavar="URL", help="PostgreSQL to use. [TASKS_DATABASE_URL]"),
    click.Option(["--root"], metavar="PATH", help="Folder of repositories and workspaces. [TASKS_ROOT]"),
    click.Option(["actor", "--as"], metavar="NAME", help="Who decides. [TASKS_ACTOR, else your user name]"),
    click.Option(["--quiet", "-q"], is_flag=True, help="Print only what was asked for."),
    click.Option(["--verbose", "-v"], is_flag=True, help="Print more."),
)

IF_VERSION: Final = click.Option(
    ["--if-version"], metavar="N", type=click.IntRange(min=0), help="Refuse if the task has another version."
)

P = ParamSpec("P")


class Shaped(click.Command):
    """Show its own options first and the shared ones after them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both lists of options."""
        for title, shared in (("Options", False), ("Shared options", True)):
            options = [option for option in self.get_params(ctx) if (option in COMMON) is shared]
            if records := [record for option in options if (record := option.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)


def command(
    *, example: str | Sequence[str], changing: bool = False
) -> Callable[[Callable[Concatenate[Context, P], Exit | None]], click.Command]:
    """Make a command of a function whose first parameter is the context; every command shows an example."""
    lines = [example] if isinstance(example, str) else example
    epilog = "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)

    def decorate(function: Callable[Concatenate[Context, P], Exit | None]) -> click.Command:
        @functools.wraps(function)
        def run(*args: P.args, **given: P.kwargs) -> Exit | None:
            with Context(command=click.get_current_context().command_path, flags=flags_of(given)) as context:
                return function(context, *args, **given)

        made = click.command(cls=Shaped, epilog=epilog)(run)
        made.params += [*([IF_VERSION] if changing else []), *COMMON]
        return made

    return decorate


def flags_of(given: dict[str, Any]) -> Flags:
    """Take the shared options out of what click parsed; a relative root is meant from here."""
    taken = {option.name: given.pop(option.name) for option in COMMON if option.name}
    if taken["quiet"] and taken["verbose"]:
        raise click.UsageError("--quiet and --verbose exclude each other")
    root = taken["root"]
    return Flags(
        json=taken["as_json"],
        quiet=taken["quiet"],
        verbose=taken["verbose"],
        database_url=taken["database_url"],
        root=str(Path(root).expanduser().absolute()) if root else root,
        actor=taken["actor"],
    )
