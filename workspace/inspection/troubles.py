"""What stops a walk, in words that travel over a pipe."""

from enum import StrEnum


class Reason(StrEnum):
    """Name why a walk could not be finished."""

    changed = "changed"
    too_deep = "too_deep"
    too_many = "too_many"
    unexpected = "unexpected"


class TroubleError(Exception):
    """Stop a walk at one entry."""

    def __init__(self, reason: Reason, path: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.path = path
        self.detail = detail
