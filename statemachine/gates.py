"""Gates: where a task waits for a named person, and how such a wait ends."""

from enum import StrEnum
from typing import Final


class GateKind(StrEnum):
    """Say what the person is asked."""

    finding = "finding"
    limit = "limit"
    failure = "failure"
    scope = "scope"
    approval = "approval"
    fixed = "fixed"
    review = "review"


class GateState(StrEnum):
    """Say whether the question still stands."""

    open = "open"
    approved = "approved"
    rejected = "rejected"
    superseded = "superseded"
    withdrawn = "withdrawn"


EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", GateState.open),
    (GateState.open, GateState.approved),
    (GateState.open, GateState.rejected),
    (GateState.open, GateState.superseded),
    (GateState.open, GateState.withdrawn),
)
