"""What a decision about a task has to know."""

from dataclasses import dataclass
from typing import Final

from statemachine.gates import GateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Say what stays owed once the rows this move itself decides are decided, and what else bears on the move.

    Read under the task's row lock. `gate` is the kind of the open gate; `checks_passed` means every
    check, on exactly this head. What is not known to be finished reads as unfinished.
    """

    task: int | None = None
    owed_findings: int = 0
    owed_pauses: int = 0
    gate: GateKind | None = None
    attempt_active: bool = False
    items_done: bool = False
    checks_passed: bool = False


UNKNOWN: Final = Facts()
