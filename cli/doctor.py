"""The doctor: what this installation runs with, what is wrong with it, and what to do."""

# ruff: noqa: PLC0415 - as in cli.tasks

from cli.context import Context
from cli.exits import Exit
from cli.options import command


@command(example="tasks doctor")
def doctor(context: Context) -> Exit:
    """Check this installation and say what to do."""
    from cli import checkups

    settings = context.configuration.rows()
    found = checkups.everything(context)
    context.screen.document(
        {
            "settings": [{"name": name, "value": value, "origin": origin} for name, value, origin in settings],
            "checks": found,
        }
    )
    context.screen.table(("setting", "value", "from"), settings)
    context.screen.table(("check", "", "found"), [(each.name, each.verdict, each.found) for each in found])
    context.screen.next_step(*dict.fromkeys(each.advice for each in found if each.advice))
    failed = {each.name for each in found if each.verdict is checkups.Verdict.fail}
    if not failed:
        return Exit.done
    return Exit.unavailable if "database" in failed else Exit.refused
