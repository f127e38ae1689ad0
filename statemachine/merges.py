"""Merge attempts: one push of one reference, recorded before it is tried."""

from enum import StrEnum
from typing import Final


class MergeState(StrEnum):
    """Say whether the target holds our commit: not known yet, yes, no."""

    submitting = "submitting"
    merged = "merged"
    failed = "failed"


EDGES: Final[tuple[tuple[str, str], ...]] = (
    ("", MergeState.submitting),
    (MergeState.submitting, MergeState.merged),
    (MergeState.submitting, MergeState.failed),
)
