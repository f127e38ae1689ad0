"""A person's word: what is said at a gate, whichever kind it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What a person says at a gate; what does not belong to its kind is refused by the command, not ignored.

    `tree` is the listing of the gate's head (path to mode), read before the transaction: the row lock and
    the head prove that it is still the one.
    """

    actor: str
    reason: str = ""
    if_version: int | None = None
    accept: tuple[int, ...] = ()
    dismiss: tuple[int, ...] = ()
    dismiss_all: bool = False
    permit: bool = False
    then: str = "retry"
    budget: timedelta | None = None
    retries: int | None = None
    time_limit: timedelta | None = None
    guidance: str = ""
    amend: bool = False
    cancel: bool = False
    tree: Mapping[str, str] | None = None
