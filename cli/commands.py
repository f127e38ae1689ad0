"""The table of commands: where each lives and the sentence `tasks --help` shows for it.

A target is `module:function`, the function made by `cli.frame.options.command`. Only names are here, so that
reading the table imports nothing.
"""

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """Name one command, where it lives, and the sentence `--help` shows for it; some run agents."""

    name: str
    target: str
    help: str
    agents: bool = False


class Family(NamedTuple):
    """Name one noun whose verbs are commands of their own."""

    name: str
    help: str
    entries: tuple[Entry, ...]


COMMANDS: Final[tuple[Entry | Family, ...]] = (
    Entry("demo", "cli.demo.command:demo", "Play the whole story on a generated repository."),
    Entry("run", "cli.tasks:run", "Add a plan and work on its task until it rests.", agents=True),
    Family(
        "plan",
        "Write and check plan files.",
        (
            Entry("check", "cli.plans:check", "Check a plan against a repository."),
            Entry("init", "cli.plans:init", "Write a commented plan file to start from."),
        ),
    ),
    Entry("add", "cli.tasks:add", "Create a task from a plan."),
    Entry("list", "cli.tasks:list_tasks", "Show the board of tasks."),
    Entry("show", "cli.tasks:show", "Show one task with its items, attempts and gate."),
    Entry("log", "cli.tasks:log", "Show the history of one task."),
    Entry("diff", "cli.tasks:diff", "Show the result of a task against its base."),
    Entry("export", "cli.tasks:export", "Write the result of a task as patches or a bundle."),
    Entry("stop", "cli.tasks:stop", "Stop the running attempt of a task."),
    Entry("cancel", "cli.tasks:cancel", "Close a task without a result."),
    Entry("retry", "cli.tasks:retry", "Queue a task again after its gate."),
    Family(
        "gate",
        "Decide what waits for a person.",
        (
            Entry("list", "cli.gates:list_gates", "Show the open gates."),
            Entry("show", "cli.gates:show", "Show why a gate is closed and what approving it will do."),
            Entry("approve", "cli.gates:approve", "Let a task pass its gate."),
            Entry("reject", "cli.gates:reject", "Turn a task back at its gate."),
        ),
    ),
    Family(
        "finding",
        "Read and decide what looked unsafe.",
        (
            Entry("list", "cli.findings:list_findings", "Show findings, the owed ones first."),
            Entry("show", "cli.findings:show", "Show one finding with its evidence."),
            Entry("add", "cli.findings:add", "Record a finding of your own on a task."),
            Entry("accept", "cli.findings:accept", "Decide that a finding was right."),
            Entry("dismiss", "cli.findings:dismiss", "Decide that a finding is harmless."),
        ),
    ),
    Family(
        "attempt",
        "Look into one run of an agent.",
        (Entry("log", "cli.attempts:log", "Show what an agent printed."),),
    ),
    Family(
        "output",
        "Take up what an attempt left unfinished.",
        (
            Entry("show", "cli.outputs:show", "Show what an attempt made that was not committed."),
            Entry("apply", "cli.outputs:apply", "Apply it to a folder of your own."),
        ),
    ),
    Entry("merge", "cli.merges:merge", "Bring an approved result to its target."),
    Family(
        "repo",
        "Register repositories.",
        (
            Entry("add", "cli.repositories:add", "Register a repository by path or URL."),
            Entry("list", "cli.repositories:list_repositories", "Show the registered repositories."),
            Entry("show", "cli.repositories:show", "Show one repository and its policy."),
        ),
    ),
    Entry("work", "cli.work:work", "Claim tasks and run them.", agents=True),
    Entry("recover", "cli.recover:recover", "Repair what dead workers left behind."),
    Family(
        "db",
        "Look after the database.",
        (
            Entry("upgrade", "cli.database:upgrade", "Bring the schema to this version."),
            Entry("current", "cli.database:current", "Show the version of the schema."),
            Entry("check", "cli.database:check", "Compare the schema with what this version expects."),
            Entry("downgrade", "cli.database:downgrade", "Take the schema back to an older version."),
            Entry("url", "cli.database:url", "Show the URL of the database, password included."),
            Entry("shell", "cli.database:shell", "Open psql on the database; with --json, say what would be run."),
        ),
    ),
    Entry("doctor", "cli.doctor:doctor", "Check this installation and say what to do."),
)
