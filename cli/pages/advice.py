"""What a person can do next with a task, as commands to type, and what each answer at a gate will do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cli.pages.views import View
from statemachine.answers import ANSWERS
from statemachine.findings import PERMITTABLE
from statemachine.gates import GateKind
from statemachine.tasks import TaskEvent, TaskState
from store.findings import Finding

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
_NAMED: Final = 5
"""Findings written out one by one in a command."""
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
_APPROVING: Final[dict[GateKind, tuple[str, ...]]] = {G.limit: ("--budget 1h",), G.scope: ("--amend",)}
_REJECTING: Final[dict[tuple[GateKind, TaskEvent], str]] = {
    (G.review, E.request_changes): "--guidance TEXT",
    (G.review, E.cancel): "--cancel",
    (G.scope, E.cancel): "--cancel",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer a person can give: what it does, and what to type for it."""

    event: TaskEvent
    effect: str
    command: str


def approvals(view: View) -> list[Choice]:
    """List what approving the open gate of a task can do, the usual answer first."""
    match view.waits_for:
        case None:
            return []
        case G.finding:
            return _after_findings(view)
        case kind if view.pause and (before_all := ANSWERS[kind].before_all):
            return [_approving(view, before_all)]
        case kind:
            return [_approving(view, event, *_APPROVING.get(kind, ())) for event in ANSWERS[kind].approve]


def rejections(view: View) -> list[Choice]:
    """List what rejecting the open gate of a task can do, the usual answer first."""
    kind = view.waits_for
    if kind is None:
        return []
    return [_choice(view, event, "reject", _REJECTING.get((kind, event), "")) for event in ANSWERS[kind].reject]


def next_steps(view: View) -> list[str]:
    """List the commands a person may type next, the likeliest first."""
    known = [command.format(task=view.task.id) for command in _BY_STATE[view.task.state]]
    return [*known, *(choice.command for choice in (*approvals(view)[:1], *rejections(view)[:1]))]


def _after_findings(view: View) -> list[Choice]:
    """List the answers at a finding gate: what was right first, what was harmless then."""
    dismissed = (*_dismissing(view, view.findings), "--reason TEXT") if view.findings else ()
    committed = [finding for finding in view.findings if finding.attempt_id in _done(view)]
    choices = [_accepted(view, committed)] if view.findings else []
    if view.pause:
        return [*choices, _approving(view, E.resume_pause, *dismissed)]
    permitted = ["--permit"] if view.findings and all(each.kind in PERMITTABLE for each in view.findings) else []
    choices.append(_harmless(view, *dismissed, *permitted))
    if all(item.outcome for item in view.items):
        choices.append(_approving(view, E.accept_result, *dismissed, "--then review"))
    return [*choices, _approving(view, E.request_changes, *dismissed, "--then changes", "--guidance TEXT")]


def _accepted(view: View, committed: list[Finding]) -> Choice:
    """Say what follows if every finding was right."""
    accepted = [f"--accept {finding.id}" for finding in view.findings]
    if committed:
        rest = _dismissing(view, [finding for finding in view.findings if finding not in committed])
        unsafe = [f"--accept {finding.id}" for finding in committed]
        return _approving(view, E.discard_item, *unsafe, *rest, "--reason TEXT")
    if any(finding.attempt_id is None for finding in view.findings):
        return _approving(view, E.request_changes, *accepted, "--reason TEXT", "--then changes", "--guidance TEXT")
    effect = f"it was unsafe and nothing of it is kept: {EFFECTS[E.retry]}"
    return _approving(view, E.retry, *accepted, "--reason TEXT", effect=effect)


def _dismissing(view: View, findings: list[Finding]) -> list[str]:
    """Name what is dismissed, or the version at which it was all there was: what joins later was not looked at."""
    if len(findings) > _NAMED:
        return ["--dismiss-all", f"--if-version {view.task.version}"]
    return [f"--dismiss {finding.id}" for finding in findings]


def _harmless(view: View, *options: str) -> Choice:
    if not view.findings:
        return _approving(view, E.retry, *options)
    again = (
        "may happen again on the same item and files" if "--permit" in options else "is asked again if it is seen again"
    )
    return _approving(view, E.retry, *options, effect=f"it is harmless and {again}: {EFFECTS[E.retry]}")


def _done(view: View) -> Iterable[object]:
    return {item.attempt_id for item in view.items if item.outcome}


def _approving(view: View, event: TaskEvent, *options: str, effect: str = "") -> Choice:
    return _choice(view, event, "approve", *options, effect=effect)


def _choice(view: View, event: TaskEvent, answer: str, *options: str, effect: str = "") -> Choice:
    command = " ".join(["tasks gate", answer, str(view.task.id), *filter(None, options)])
    return Choice(event=event, effect=effect or EFFECTS[event], command=command)
