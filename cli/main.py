"""The `tasks` program: a table of commands, each imported only when it is used.

`tasks --help` and shell completion read the table alone: no command, no database driver, no settings.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem, shell_complete

import statemachine
from cli.commands import COMMANDS, Entry, Family
from cli.frame import streams

CLASH: Final = """\
error: another package is imported as 'statemachine' ({0}) [package_clash]
next: install weighlock into an environment of its own, with uv tool install or pipx
"""


def load(entry: Entry) -> click.Command:
    """Import the module of one command and return the command."""
    module, _, function = entry.target.partition(":")
    command = getattr(import_module(module), function)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is no command")
    return command


class Lazy(click.Group):
    """Offer the commands of a table and import one only when it is called."""

    entries: dict[str, Entry | Family]

    @classmethod
    def of(cls, name: str, sentence: str, entries: Iterable[Entry | Family]) -> "Lazy":
        """Make a group from a part of the table."""
        group = cls(name, help=sentence)
        group.entries = {entry.name: entry for entry in entries}
        return group

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature, here and below
        """Name the commands in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load the command called `cmd_name`."""
        match self.entries.get(cmd_name):
            case Family(name, sentence, entries):
                return Lazy.of(name, sentence, entries)
            case Entry() as entry:
                return load(entry)
            case None:
                return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands with the sentences of the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.help) for entry in self.entries.values()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command from the table, and options as click does."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        found = (entry for entry in self.entries.values() if entry.name.startswith(incomplete))
        return [CompletionItem(entry.name, help=entry.help) for entry in found]


def show_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001
    """Print the version and end; the metadata is read here and not before, because reading it is slow."""
    if value:
        click.echo(f"weighlock {import_module('importlib.metadata').version('weighlock')}")
        ctx.exit()


program = Lazy.of(
    "tasks",
    "Run coding agents unattended on your git repositories and still trust what reaches the main branch.",
    COMMANDS,
)
program.context_settings = {"help_option_names": ["--help", "-h"]}
program.epilog = "Look around: tasks demo. Your own repository: tasks run PLAN --repo PATH --agent 'COMMAND'."
program.params.append(
    click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show_version, help="Show the version."
    )
)


def is_ours() -> bool:
    """Tell whether `statemachine` is this project's folder and not the package of the same import name."""
    return getattr(statemachine, "__project__", None) == "weighlock"


def invoke(line: Sequence[str]) -> object:
    """Run one command line and return what the command returned; errors are left to the caller.

    Not click's own `main`, which turns every broken pipe of the process into a silent exit.
    """
    if instruction := os.environ.get("_TASKS_COMPLETE"):
        return shell_complete(program, {}, "tasks", "_TASKS_COMPLETE", instruction)
    with program.make_context("tasks", list(line)) as ctx:
        return program.invoke(ctx)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, whatever happens, after telling an error once."""
    if not is_ours():
        sys.stderr.write(CLASH.format(statemachine.__file__))
        return 3
    streams.steady()
    line = arguments
    if line is None:
        line = sys.argv[1:]
        if any(isinstance(entry, Entry) and entry.agents for entry in COMMANDS if entry.name in line[:1]):
            from workspace.agents.handovers import keep_to_ourselves  # noqa: PLC0415 - only where agents are run

            line = keep_to_ourselves(line)
    try:
        outcome = invoke(line)
    except click.exceptions.Exit as ended:
        outcome = ended.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - this is the one place where errors end
        from cli.frame.exits import told  # noqa: PLC0415 - `tasks --help` needs none of it

        outcome = told(error, line=line)
    streams.settle()
    code = int(outcome) if isinstance(outcome, int) else 0
    if (lost := streams.lost()) and not code:
        from cli.frame.exits import told  # noqa: PLC0415 - as above

        return int(told(lost, line=line))
    return code


if __name__ == "__main__":
    sys.exit(main())
