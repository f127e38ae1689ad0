"""Why a task may not move now: a code, a sentence, and the command to type next."""

from typing import Final

from statemachine.facts import Facts
from statemachine.refusals import Refusal
from statemachine.tasks import CLOSED, RULES, Source, TaskEvent, TaskState

E, S = TaskEvent, TaskState
FEW: Final = 4

# One code for each event that comes while the task is elsewhere.
ELSEWHERE: Final[dict[TaskEvent, str]] = {
    E.add: "already_added",
    E.claim: "not_queued",
    E.take_over: "not_running",
    E.settle: "not_running",
    E.release: "not_running",
    E.requeue: "not_running",
    E.await_approval: "not_running",
    E.suspect_fixed: "not_running",
    E.pause: "not_running",
    E.raise_finding: "not_open",
    E.hit_limit: "not_active",
    E.halt: "not_running",
    E.give_up: "not_running",
    E.submit: "not_running",
    E.approve_start: "not_at_gate",
    E.continue_anyway: "not_at_gate",
    E.approve_continuation: "not_at_gate",
    E.discard_item: "not_at_gate",
    E.retry: "not_at_gate",
    E.resume_pause: "not_at_gate",
    E.accept_result: "not_at_gate",
    E.approve: "not_at_gate",
    E.request_changes: "not_changeable",
    E.amend: "not_amendable",
    E.recheck: "not_recheckable",
    E.lapse_approval: "not_approved",
    E.begin_merge: "not_mergeable",
    E.confirm_merge: "not_merging",
    E.fail_merge: "not_merging",
    E.cancel: "not_open",
}

# To a person "a merge is in flight" and "it is closed" say more than "not here".
_TOLD_IT_MERGES: Final = frozenset({E.raise_finding, E.request_changes, E.amend, E.recheck, E.begin_merge, E.cancel})
_TOLD_IT_IS_CLOSED: Final = _TOLD_IT_MERGES - {E.begin_merge}

_NEXT: Final[dict[Source, str]] = {
    "": "tasks add PLAN --repo PATH",
    S.queued: "tasks work",
    S.running: "tasks show {}",
    S.in_review: "tasks gate show {}",
    S.approved: "tasks merge {}",
    S.merge_blocked: "tasks merge {}",
    S.merging: "tasks recover",
    S.needs_human: "tasks gate show {}",
    S.needs_amendment: "tasks gate show {}",
    S.needs_approval: "tasks gate show {}",
    S.possibly_fixed: "tasks gate show {}",
    S.merged: "tasks log {}",
    S.cancelled: "tasks log {}",
}


def next_command(state: Source, task: int | None = None) -> str:
    """Name the command a person would type to get a task in this state going, or to see why it rests."""
    return _NEXT[state].format(number(task))


def number(task: int | None) -> str:
    """Write a task's number the way a command takes it."""
    return "ID" if task is None else str(task)


def named(task: int | None) -> str:
    """Name a task at the start of a sentence."""
    return "the task" if task is None else f"task {task}"


def elsewhere(state: Source, event: TaskEvent, task: int | None) -> Refusal:
    """Refuse an event that has no edge from this state."""
    sources = list(dict.fromkeys(source for rule in RULES if rule.event is event for source in rule.sources))
    places = " or ".join(sources) if len(sources) <= FEW else "another state"
    return Refusal(
        _code(state, event),
        f"{named(task)} is {state or 'not added yet'}; {event} starts from {places or 'nothing'}",
        hint=next_command(state, task),
        task=task,
        state=str(state),
        event=event.value,
    )


def owed(facts: Facts) -> Refusal | None:
    """Refuse while a finding is owed, then while a pause is."""
    if facts.owed_findings:
        return _refusal("finding_owed", f"owes {facts.owed_findings} finding(s); a person decides each first", facts)
    if facts.owed_pauses:
        return _refusal("pause_owed", "waits for a person to decide work outside its declared files", facts)
    return None


def busy(facts: Facts) -> Refusal:
    """Refuse to move a task from under its active attempt."""
    return _refusal("attempt_active", "has an active attempt; the move is made when it ends", facts, "tasks show {}")


def unmet(when: str, facts: Facts) -> Refusal:
    """Refuse an event because its rule's question was answered with no."""
    match when:
        case "other_gate":
            return _refusal("finding_gate_open", "is at a finding gate already, or its gate was not read", facts)
        case "only_pause_owed" if not facts.owed_findings:
            return _refusal("no_pause", "has no open scope pause", facts)
        case _:
            return owed(facts) or _unfinished(facts)


def _unfinished(facts: Facts) -> Refusal:
    if not facts.items_done:
        return _refusal("items_unfinished", "has items that are not done", facts, "tasks show {}")
    return _refusal("checks_missing", "has checks that did not pass on this head", facts, "tasks show {}")


def _code(state: Source, event: TaskEvent) -> str:
    if state is S.merging and event in _TOLD_IT_MERGES:
        return "merge_in_flight"
    if state in CLOSED and event in _TOLD_IT_IS_CLOSED:
        return "task_closed"
    return ELSEWHERE[event]


def _refusal(code: str, why: str, facts: Facts, hint: str = "tasks gate show {}") -> Refusal:
    return Refusal(
        code,
        f"{named(facts.task)} {why}",
        hint=hint.format(number(facts.task)),
        task=facts.task,
        owed_findings=facts.owed_findings,
        owed_pauses=facts.owed_pauses,
    )
