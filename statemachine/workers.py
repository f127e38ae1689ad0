"""Workers: one row for every start of a worker process."""

from enum import StrEnum
from typing import Final


class WorkerState(StrEnum):
    """Say whether a worker admits work, is finishing, or is no more."""

    active = "active"
    draining = "draining"
    gone = "gone"


EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", WorkerState.active),
    (WorkerState.active, WorkerState.draining),
    (WorkerState.active, WorkerState.gone),
    (WorkerState.draining, WorkerState.gone),
)
