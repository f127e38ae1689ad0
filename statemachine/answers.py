"""What a person's answer at each kind of gate does to the task."""

from dataclasses import dataclass
from typing import Final

from statemachine.gates import GateKind
from statemachine.tasks import TaskEvent

E, G = TaskEvent, GateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Name the event of each answer: the first of several is what happens when nothing else is asked for.

    `before_all` comes instead of any approval while a pause is open.
    """

    approve: tuple[TaskEvent, ...]
    reject: tuple[TaskEvent, ...]
    before_all: TaskEvent | None = None


ANSWERS: Final[dict[GateKind, Answer]] = {
    G.finding: Answer(
        approve=(E.retry, E.accept_result, E.request_changes, E.discard_item),
        reject=(E.cancel,),
        before_all=E.resume_pause,
    ),
    G.limit: Answer(approve=(E.retry,), reject=(E.cancel,), before_all=E.resume_pause),
    G.failure: Answer(approve=(E.retry, E.request_changes), reject=(E.cancel,), before_all=E.resume_pause),
    G.scope: Answer(approve=(E.approve_continuation,), reject=(E.discard_item, E.cancel)),
    G.approval: Answer(approve=(E.approve_start,), reject=(E.cancel,)),
    G.fixed: Answer(approve=(E.continue_anyway,), reject=(E.cancel,)),
    G.review: Answer(approve=(E.approve,), reject=(E.request_changes, E.cancel)),
}


def approval(kind: GateKind, *, pause_open: bool) -> TaskEvent:
    """Name what approving does where nothing else is asked for."""
    answer = ANSWERS[kind]
    return answer.before_all if pause_open and answer.before_all else answer.approve[0]
