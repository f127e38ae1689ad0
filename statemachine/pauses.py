"""Scope pauses: an item was committed with paths it had not declared."""

from enum import StrEnum
from typing import Final


class PauseState(StrEnum):
    """Say what became of the work outside the scope."""

    open = "open"
    continued = "continued"
    discarded = "discarded"
    withdrawn = "withdrawn"


EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", PauseState.open),
    (PauseState.open, PauseState.continued),
    (PauseState.open, PauseState.discarded),
    (PauseState.open, PauseState.withdrawn),
)
