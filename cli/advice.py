"""What a person can do next with a task, as commands to type, and what each answer at a gate will do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cli.views import View
from statemachine.answers import ANSWERS
from statemachine.gates import GateKind
from statemachine.tasks import TaskEvent, TaskState

E, G, S = TaskEvent, GateKind, TaskState

EFFECTS: Final[dict[TaskEvent, str]] = {
    E.retry: "the task is queued again; the first item that is not done runs in a fresh workspace",
    E.accept_result: "the result goes to review as it is",
    E.request_changes: "an item with your guidance is added and the task is queued",
    E.discard_item: "the commit is taken back and kept under a ref of its own; the item runs again",
    E.resume_pause: "the task goes back to its scope gate, where the files outside its scope are decided",
    E.approve_continuation: "the commit is kept, the item may touch exactly these files too, and the task goes on",
    E.approve_start: "the task is queued; what is approved here is not asked again while it stays as it is",
    E.continue_anyway: "the items run although the base may hold the change already",
    E.approve: "this head may be merged into its target; nothing is merged yet",
    E.cancel: "the task is closed without a result; findings stay in its history",
}

_THEN: Final = {E.accept_result: ("--then review",), E.request_changes: ("--then changes", "--guidance TEXT")}
_LOOK: Final = ("tasks gate show {task}",)
_BY_STATE: Final[dict[TaskState, tuple[str, ...]]] = {
    S.queued: ("tasks work --once", "tasks cancel {task}"),
    S.running: ("tasks show {task}", "tasks stop {task}"),
    S.in_review: ("tasks diff {task}",),
    S.needs_human: _LOOK,
    S.needs_amendment: _LOOK,
    S.needs_approval: _LOOK,
    S.possibly_fixed: _LOOK,
    S.approved: ("tasks merge {task}",),
    S.merge_blocked: ("tasks merge {task}", "tasks export {task} --format patch"),
    S.merging: ("tasks recover", "tasks show {task}"),
    S.merged: ("tasks log {task}",),
    S.cancelled: ("tasks log {task}",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer a person can give: what it does, and what to type for it."""

    event: TaskEvent
    effect: str
    command: str


def approvals(view: View) -> list[Choice]:
    """List what approving the open gate of a task can do, the usual answer first."""
    kind = view.waits_for
    return [] if kind is None else [_choice(view, event, "approve") for event in _events(view, kind)]


def rejections(view: View) -> list[Choice]:
    """List what rejecting the open gate of a task can do, the usual answer first."""
    kind = view.waits_for
    return [] if kind is None else [_choice(view, event, "reject") for event in ANSWERS[kind].reject]


def next_steps(view: View) -> list[str]:
    """List the commands a person may type next, the likeliest first."""
    known = [command.format(task=view.task.id) for command in _BY_STATE[view.task.state]]
    return [*known, *(choice.command for choice in (*approvals(view)[:1], *rejections(view)[:1]))]


def _events(view: View, kind: GateKind) -> list[TaskEvent]:
    answer = ANSWERS[kind]
    every = answer.approve
    if view.pause and answer.before_all:
        every = (answer.before_all, *(event for event in every if event is E.discard_item))
    return [event for event in every if _possible(view, event)]


def _possible(view: View, event: TaskEvent) -> bool:
    match event:
        case E.accept_result:
            return all(item.outcome for item in view.items)
        case E.discard_item:
            return bool(_committed(view))
        case _:
            return True


def _committed(view: View) -> list[int]:
    """List the open findings about work that is in the ledger."""
    done = {item.attempt_id for item in view.items if item.outcome}
    return [finding.id for finding in view.findings if finding.attempt_id in done]


def _choice(view: View, event: TaskEvent, answer: str) -> Choice:
    options = _approving(view, event) if answer == "approve" else _rejecting(view, event)
    command = " ".join([f"tasks gate {answer} {view.task.id}", *options])
    return Choice(event=event, effect=EFFECTS[event], command=command)


def _approving(view: View, event: TaskEvent) -> Iterable[str]:
    match view.waits_for:
        case G.finding if event is E.discard_item:
            return _unsafe(view)
        case G.finding:
            return [*_harmless(view), *_THEN.get(event, ())]
        case G.limit if event is E.retry:
            return ["--budget 1h"]
        case G.scope:
            return ["--amend"]
        case _:
            return []


def _unsafe(view: View) -> list[str]:
    unsafe = _committed(view)
    rest = ["--dismiss-all"] if len(unsafe) < len(view.findings) else []
    return [*(f"--accept {finding}" for finding in unsafe), *rest, "--reason TEXT"]


def _harmless(view: View) -> list[str]:
    return ["--dismiss-all", "--reason TEXT"] if view.findings else []


def _rejecting(view: View, event: TaskEvent) -> Iterable[str]:
    match view.waits_for, event:
        case G.review, E.request_changes:
            return ["--guidance TEXT"]
        case G.scope | G.review, E.cancel:
            return ["--cancel"]
        case _:
            return []
