"""Allocations: a place on some host that belongs to one task for a while."""

from enum import StrEnum
from typing import Final


class AllocationState(StrEnum):
    """Say whether a workspace may be attached, and what may be done with its files."""

    reserved = "reserved"
    ready = "ready"
    failed = "failed"
    quarantined = "quarantined"
    retired = "retired"
    released = "released"


A = AllocationState

EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", A.reserved),
    (A.reserved, A.ready),
    (A.reserved, A.failed),
    (A.reserved, A.quarantined),
    (A.ready, A.retired),
    (A.ready, A.quarantined),
    (A.ready, A.released),
    (A.retired, A.released),
    (A.quarantined, A.released),
    (A.failed, A.released),
)
