"""The doctor: what this installation runs with, what is wrong with it, and what to do."""

# ruff: noqa: PLC0415 - as in cli.tasks

from typing import TYPE_CHECKING

from cli.frame.context import Context
from cli.frame.exits import Exit
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.pages.report_schemas import DoctorDocument


@command(example="tasks doctor")
def doctor(context: Context) -> Exit:
    """Check this installation and say what to do."""
    from cli.acts import checkups
    from cli.pages.portraits import aligned

    settings = context.configuration.rows()
    found = checkups.everything(context)
    told: DoctorDocument = {
        "settings": [{"name": name, "value": value, "origin": origin} for name, value, origin in settings],
        "checks": [
            {"name": each.name, "verdict": each.verdict.value, "found": each.found, "advice": each.advice}
            for each in found
        ],
    }
    context.screen.document(told)
    context.screen.text("settings", *aligned((name, value, f"({origin})") for name, value, origin in settings))
    context.screen.text("checks")
    for each in found:
        context.screen.text(f"  {each.verdict:<4}  {each.name}: {each.found}")
        context.screen.text(*(f"        {line}" for line in each.advice.splitlines()))
    failed = {each.name for each in found if each.verdict is checkups.Verdict.fail}
    if not failed:
        return Exit.done
    return Exit.unavailable if "database" in failed else Exit.refused
