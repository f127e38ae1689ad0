"""Decide how an event moves a task: pure, from the table, before any row is touched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from statemachine import denials
from statemachine.facts import UNKNOWN, Facts
from statemachine.gates import GateKind
from statemachine.tasks import BEARS_FINDING, BEARS_PAUSE, BEGINNING, RULES, Source, TaskEvent, TaskState

if TYPE_CHECKING:
    from transitions import Machine

__all__ = ["UNKNOWN", "Facts", "Move", "decide"]

# These decide the open pause themselves, in the transaction that makes the move.
_DECIDES_PAUSE: Final = frozenset({TaskEvent.approve_continuation, TaskEvent.discard_item})


@dataclass(frozen=True, slots=True)
class Move:
    """Say what the row, the line of history and the gate are to become."""

    event: TaskEvent
    source: Source
    dest: TaskState
    gate: GateKind | None


class Token:
    """Stand in for one task while the machine asks its questions; thrown away afterwards."""

    __slots__ = ("facts", "state")

    def __init__(self, state: Source, facts: Facts) -> None:
        self.state: str = str(state)
        self.facts = facts

    def other_gate(self) -> bool:
        """Tell whether the open gate is known and asks something else than to decide findings."""
        return self.facts.gate not in {None, GateKind.finding}

    def finding_owed(self) -> bool:
        """Tell whether a finding waits for a person."""
        return self.facts.owed_findings > 0

    def no_finding_owed(self) -> bool:
        """Tell whether no finding waits for a person."""
        return not self.finding_owed()

    def nothing_owed(self) -> bool:
        """Tell whether neither a finding nor a pause waits for a person."""
        return self.no_finding_owed() and self.facts.owed_pauses == 0

    def only_pause_owed(self) -> bool:
        """Tell whether every finding is decided and a pause is open."""
        return self.no_finding_owed() and self.facts.owed_pauses > 0

    def complete(self) -> bool:
        """Tell whether nothing is owed, every item is done, and every check passed on this head."""
        return self.nothing_owed() and self.facts.items_done and self.facts.checks_passed


def decide(state: Source, event: TaskEvent, facts: Facts = UNKNOWN) -> Move:
    """Answer where the event takes a task, or raise the refusal that says why it may not happen."""
    rules = [rule for rule in RULES if rule.event is event and state in rule.sources]
    if not rules:
        raise denials.elsewhere(state, event, facts.task)
    if facts.attempt_active and event is not TaskEvent.take_over:
        raise denials.busy(facts)
    token = Token(state, facts)
    if not _machine().events[event.value].trigger(token):
        raise denials.unmet(rules[-1].when, facts)
    taken = next(rule for rule in rules if rule.dest == token.state)
    _bear(taken.dest, event, facts)
    return Move(event, state, taken.dest, taken.gate)


def _bear(dest: TaskState, event: TaskEvent, facts: Facts) -> None:
    """Refuse to take what is owed to a state that may not owe it."""
    finding = facts.owed_findings and dest not in BEARS_FINDING
    pause = facts.owed_pauses and dest not in BEARS_PAUSE and event not in _DECIDES_PAUSE
    refusal = denials.owed(facts) if finding or pause else None
    if refusal and event is not TaskEvent.take_over:
        raise refusal


@cache
def _machine() -> Machine:
    """Build the machine once; importing the library costs more than all the rest of this package."""
    from transitions import Machine  # noqa: PLC0415

    states = [BEGINNING, *(state.value for state in TaskState)]
    machine = Machine(model=None, states=states, initial=None, auto_transitions=False)
    for rule in RULES:
        for source in rule.sources:
            machine.add_transition(rule.event.value, str(source), rule.dest.value, conditions=rule.when or None)
    return machine
