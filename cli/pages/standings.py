"""How a task stands, told after every command that looked at it or changed it."""

from cli.frame.context import Context
from cli.pages import nouns
from cli.pages.advice import next_steps
from cli.pages.portraits import portrait, progress, stands
from cli.pages.views import View, look

__all__ = ["look", "tell"]


def tell(context: Context, view: View, *, full: bool = False, items: bool = False) -> None:
    """Print the task's document, or in words where it is (`full`: all of it) and what to type next."""
    screen = context.screen
    if context.flags.json:
        screen.document(nouns.task(view, context.settings.root))
    elif full:
        screen.text(*portrait(view))
    else:
        screen.say(stands(view), *(progress(view) if items else []))
    screen.next_step(*next_steps(view))
