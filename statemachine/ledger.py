"""The ledger: one row for each item's result, which is the result until a person discards it."""

from enum import StrEnum
from typing import Final


class LedgerState(StrEnum):
    """Say whether an item is done by this row."""

    live = "live"
    discarded = "discarded"


EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", LedgerState.live),
    (LedgerState.live, LedgerState.discarded),
)
