"""What a person can do next with a task, as commands to type, and what each answer at a gate will do."""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Final

from cli.pages import effects
from cli.pages.views import View
from statemachine.answers import ANSWERS
from statemachine.durations import show_duration
from statemachine.findings import PERMITTABLE
from statemachine.gates import GateKind
from statemachine.settlement import Isolation
from statemachine.tasks import TaskEvent, TaskState
from store.findings import Finding

E, G, S = TaskEvent, GateKind, TaskState

_NAMED: Final = 5
"""Findings written out one by one in a command."""
_LOOK: Final = ("tasks gate show {task}",)
_BY_STATE: Final[dict[TaskState, tuple[str, ...]]] = {
    S.queued: ("tasks work --once", "tasks cancel {task}   # closes the task for good"),
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
_APPROVING: Final[dict[GateKind, tuple[str, ...]]] = {G.scope: ("--amend",)}
_BUDGET: Final = timedelta(hours=1)
_REJECTING: Final[dict[tuple[GateKind, TaskEvent], str]] = {
    (G.review, E.request_changes): "--guidance TEXT",
    (G.review, E.cancel): "--cancel",
    (G.scope, E.discard_item): "--guidance TEXT",
    (G.scope, E.cancel): "--cancel",
}
_NOTES: Final[dict[TaskEvent, str]] = {
    E.cancel: "closes the task for good",
    E.discard_item: "takes the commit back",
    E.request_changes: "sends it back with your words",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer a person can give: what it does, and what to type for it."""

    event: TaskEvent
    effect: str
    command: str

    @property
    def annotated(self) -> str:
        """Give the command with the few words that tell it from another answer of the same name."""
        note = _NOTES.get(self.event)
        return f"{self.command}   # {note}" if note else self.command


def approvals(view: View) -> list[Choice]:
    """List what approving the open gate of a task can do, the usual answer first."""
    match view.waits_for:
        case None:
            return []
        case G.finding:
            return _after_findings(view)
        case kind if view.pause and (before_all := ANSWERS[kind].before_all):
            return [_approving(view, before_all)]
        case G.failure:
            return _after_failure(view)
        case G.limit:
            more = show_duration(2 * (view.task.budget or _BUDGET / 2))
            return [_approving(view, E.retry, f"--budget {more}")]
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
    if view.waits_for is G.review and view.unchanged:
        answers = rejections(view)
    else:
        usual = 2 if view.waits_for is G.failure else 1
        answers = [*approvals(view)[:usual], *rejections(view)[:1]]
    return [*_onward(view), *(choice.annotated for choice in answers)]


def _onward(view: View) -> list[str]:
    task = view.task
    steps = _BY_STATE[task.state]
    if task.state is S.running and task.stop_reason:
        steps = steps[:1]
    if view.waits_for_time:
        steps = steps[1:]
    if task.state is S.in_review and view.unchanged:
        steps = ("tasks attempt log {task}",)
    return [command.format(task=task.id) for command in steps]


def _after_failure(view: View) -> list[Choice]:
    """List the answers where a run failed: with every item done it was a check, and only a change can mend that."""
    again = _approving(view, E.retry)
    last = view.attempts[-1] if view.attempts else None
    if view.undone is None:
        return [_approving(view, E.request_changes, "--then changes", "--guidance TEXT"), again]
    said = "the same, and the agent is told what to do otherwise"
    longer = "the same, and the agent may take twice as long as it had"
    choices = [again, _approving(view, E.retry, "--guidance TEXT", effect=said)]
    if last and last.isolation_failure == Isolation.timeout and last.started_at and last.ended_at:
        limit = timedelta(seconds=ceil(2 * (last.ended_at - last.started_at).total_seconds()))
        choices.insert(0, _approving(view, E.retry, f"--time-limit {show_duration(limit)}", effect=longer))
    return choices


def _after_findings(view: View) -> list[Choice]:
    """List the answers at a finding gate: what was right first, what was harmless then."""
    dismissed = (*_dismissing(view, view.findings), "--reason TEXT") if view.findings else ()
    committed = [finding for finding in view.findings if finding.attempt_id in view.done]
    choices = [_accepted(view, committed)] if view.findings else []
    if view.pause:
        return [*choices, _approving(view, E.resume_pause, *dismissed)]
    permitted = ["--permit"] if view.findings and all(each.kind in PERMITTABLE for each in view.findings) else []
    choices.append(_harmless(view, *dismissed, *permitted))
    if view.undone is None:
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
    effect = f"it was unsafe and nothing of it is kept: {effects.again(view)}"
    told = ["--guidance TEXT"] if view.undone else []
    return _approving(view, E.retry, *accepted, "--reason TEXT", *told, effect=effect)


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
    return _approving(view, E.retry, *options, effect=f"it is harmless and {again}: {effects.again(view)}")


def _approving(view: View, event: TaskEvent, *options: str, effect: str = "") -> Choice:
    return _choice(view, event, "approve", *options, effect=effect)


def _choice(view: View, event: TaskEvent, answer: str, *options: str, effect: str = "") -> Choice:
    command = " ".join(["tasks gate", answer, str(view.task.id), *filter(None, options)])
    return Choice(event=event, effect=effect or effects.told(view, event), command=command)
