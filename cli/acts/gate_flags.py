"""Which flags belong to which kind of gate; what does not belong is refused, because ignoring it would mislead."""

from collections.abc import Mapping
from typing import Final

import click

from statemachine.gates import GateKind

G = GateKind
RETRY: Final = frozenset({"budget", "retries", "time_limit", "guidance"})

APPROVE: Final[Mapping[GateKind, frozenset[str]]] = {
    G.finding: RETRY | {"accept", "dismiss", "dismiss_all", "permit", "then"},
    G.limit: RETRY,
    G.failure: RETRY | {"then"},
    G.scope: frozenset({"amend"}),
    G.approval: frozenset(),
    G.fixed: frozenset(),
    G.review: frozenset(),
}
REJECT: Final[Mapping[GateKind, frozenset[str]]] = {
    kind: frozenset({"cancel", "guidance"} if kind in {G.review, G.scope} else {"cancel"}) for kind in GateKind
}


def refuse_strangers(
    kind: GateKind,
    given: Mapping[str, object],
    allowed: Mapping[GateKind, frozenset[str]],
    *,
    paused: bool = False,
) -> None:
    """Refuse a flag that a gate of this kind has no use for, naming it; `paused` says that a scope pause is open."""
    for name in [name for name, value in given.items() if _is_given(value)]:
        if name not in allowed[kind]:
            raise _usage(f"{flag(name)} does not belong to a {kind} gate; {_belonging(allowed[kind])}")
        if kind is G.failure and given[name] == "review":
            raise _usage("--then review belongs to a finding gate: here something failed, and no result may pass")
        if paused and name in RETRY | {"then"}:
            raise _usage(f"{flag(name)} has no effect here: the files outside the scope are decided first")


def refuse_contradictions(given: Mapping[str, object]) -> None:
    """Refuse flags that make no sense together, whatever the gate."""
    if given.get("permit") and not (given.get("dismiss") or given.get("dismiss_all")):
        raise _usage("--permit goes with --dismiss ID or --dismiss-all")
    both = sorted(set(_ids(given, "accept")) & set(_ids(given, "dismiss")))
    if both:
        raise _usage(f"finding {both[0]} cannot be both accepted and dismissed")
    if given.get("then") == "changes" and not given.get("guidance"):
        raise _usage("--then changes needs --guidance TEXT")
    if given.get("cancel") and given.get("guidance"):
        raise _usage("--guidance has no effect with --cancel")


def flag(name: str) -> str:
    """Write a parameter's name as a person types it."""
    return f"--{name.replace('_', '-')}"


def _is_given(value: object) -> bool:
    return not (value is None or value is False or value in ("", ()))


def _ids(given: Mapping[str, object], name: str) -> tuple[int, ...]:
    found = given.get(name)
    return found if isinstance(found, tuple) else ()


def _belonging(names: frozenset[str]) -> str:
    return f"it takes {', '.join(map(flag, sorted(names)))}" if names else "it takes --reason only"


def _usage(message: str) -> click.UsageError:
    return click.UsageError(message, click.get_current_context(silent=True))
