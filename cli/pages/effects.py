"""What each answer at a gate does, in words: to this task, as it is now."""

from typing import Final

from cli.pages.views import View
from statemachine.tasks import TaskEvent
from statemachine.texts import one_line

E = TaskEvent

EFFECTS: Final[dict[TaskEvent, str]] = {
    E.accept_result: "the result goes to review as it is",
    E.discard_item: "the commit is taken back and kept under a ref of its own; the item runs again",
    E.resume_pause: "the task goes back to its scope gate, where the files outside its scope are decided",
    E.approve_continuation: "the commit is kept, the item may touch exactly these files too, and the task goes on",
    E.approve_start: "the task is queued; what is approved here is not asked again while it stays as it is",
    E.continue_anyway: "the items run although the base may hold the change already",
    E.approve: "this head may be merged into its target; nothing is merged yet",
    E.cancel: "the task is closed for good, without a result; findings stay in its history",
}


def told(view: View, event: TaskEvent) -> str:
    """Say what one answer does to this task."""
    match event:
        case E.retry:
            return again(view)
        case E.request_changes:
            return _changed(view)
        case E.approve if view.unchanged:
            return "nothing was changed, so a merge would have nothing to do"
        case _:
            return EFFECTS[event]


def again(view: View) -> str:
    """Say what a retry does: which item runs, or that none is left to run."""
    undone = view.undone
    if undone is None:
        return "the task is queued again; every item is done, so no agent runs, only the checks on the same commit"
    return f"the task is queued again; {one_line(undone.item_id)} runs in a fresh workspace"


def _changed(view: View) -> str:
    """Say where the words of a reviewer who asks for changes go: to a new item, to those that still run, or to both."""
    undone = view.undone
    if undone is None:
        return "an agent gets your words as a new item, which may edit what the done items declared; then checks run"
    said = f"the task is queued again; your words go into the prompts of {one_line(undone.item_id)} and what follows"
    return f"{said}, and a last item may edit what is done" if view.done else said
