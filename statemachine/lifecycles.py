"""Every noun that has a life, with its states and edges, for whoever has to go through all of them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from statemachine import allocations, attempts, findings, gates, ledger, merges, pauses, workers


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Hold a noun's states and its (source, dest) pairs; '' is the beginning."""

    noun: str
    states: type[StrEnum]
    edges: tuple[tuple[str, str], ...]


NOUNS: Final[tuple[Lifecycle, ...]] = (
    Lifecycle("attempt", attempts.AttemptState, attempts.EDGES),
    Lifecycle("finding", findings.FindingState, findings.EDGES),
    Lifecycle("pause", pauses.PauseState, pauses.EDGES),
    Lifecycle("gate", gates.GateState, gates.EDGES),
    Lifecycle("allocation", allocations.AllocationState, allocations.EDGES),
    Lifecycle("merge", merges.MergeState, merges.EDGES),
    Lifecycle("ledger", ledger.LedgerState, ledger.EDGES),
    Lifecycle("worker", workers.WorkerState, workers.EDGES),
)
