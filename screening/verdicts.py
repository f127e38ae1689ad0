"""What a judgement says: what is owed, what a person has permitted, and what is inside the scope."""

from collections.abc import Sequence
from dataclasses import dataclass

from screening.evidence import shown_path, stored
from statemachine.findings import FindingKind, fingerprint
from statemachine.plans import OperationKind
from statemachine.texts import clean, quote

LONGEST_SUMMARY = 4000
_LISTED = 5
Touched = tuple[OperationKind, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Hold one thing a person must look at; `evidence` and `paths` are escaped to be stored as they are."""

    kind: FindingKind
    summary: str
    evidence: dict[str, object]
    fingerprint: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Hold a judgement; with any violation nothing is committed and no scope was computed."""

    violations: tuple[Violation, ...] = ()
    permitted: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    in_scope: tuple[Touched, ...] = ()
    out_of_scope: tuple[Touched, ...] = ()
    unchanged: bool = False
    sensitive: tuple[str, ...] = ()


def violation(
    kind: FindingKind, item: str, summary: str, *, paths: Sequence[str] = (), target: str = "", **evidence: object
) -> Violation:
    """Make a violation of this item; paths and target name it, the evidence does not."""
    whole = stored({"kind": kind.value, "item": item, "paths": list(paths), **evidence})
    return Violation(
        kind=kind,
        summary=clean(summary, LONGEST_SUMMARY),
        evidence=whole if isinstance(whole, dict) else {},
        fingerprint=fingerprint(kind, item, paths, target),
        paths=tuple(map(shown_path, paths)),
    )


def listed(names: Sequence[str]) -> str:
    """Show the first few of a list, quoted, and how many there are beside them."""
    shown = ", ".join(map(quote, names[:_LISTED]))
    rest = len(names) - _LISTED
    return f"{shown} and {rest} more" if rest > 0 else shown
