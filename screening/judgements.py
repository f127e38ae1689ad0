"""The judgement: shape, report, paths, rules, permits and scope, in that order."""

from collections.abc import Iterable, Mapping, Sequence

from screening.changes import rule_on
from screening.manifests import MOST_CHANGES, Manifest, TooManyChanges, read_manifest
from screening.parts import Part, parts_of, told_twice
from screening.policies import Policy
from screening.reports import report_notes, report_violations
from screening.scope import split_by_scope
from screening.shapes import Malformed
from screening.verdicts import Verdict, Violation, violation
from statemachine.findings import PERMITTABLE, FindingKind
from statemachine.paths import is_sensitive
from statemachine.plans import Item, OperationKind
from statemachine.texts import quote


def judge(*, item: Item, manifest: Mapping[str, object], policy: Policy, permits: frozenset[str]) -> Verdict:
    """Judge what a run did against what its item declares; `permits` are fingerprints a person let pass.

    Never raises for what a manifest holds: what cannot be understood is a violation.
    """
    try:
        report = read_manifest(manifest)
    except TooManyChanges as many:
        return Verdict(violations=(_too_many(many, item),))
    except Malformed as malformed:
        return Verdict(violations=(_malformed(malformed.field, malformed.message, item),))
    return _judge(report, item=item, policy=policy, permits=permits)


def _judge(report: Manifest, *, item: Item, policy: Policy, permits: frozenset[str]) -> Verdict:
    parts = parts_of(report.changes)
    notes = tuple(report_notes(report, policy=policy))
    owed, permitted = _weigh(report_violations(report, parts, item=item.id, policy=policy), permits)
    twice = told_twice(parts, folding=report.identity == "folding")
    if twice is not None:
        told = _malformed("changes", f"name {quote(twice)} twice, or its identity cannot be known", item, (twice,))
        return Verdict(violations=_once([*owed, told]), permitted=_once(permitted), notes=notes)
    for part in (*parts, *_ignored_parts(report)):
        ruling = rule_on(part, item=item, policy=policy, permits=permits)
        owed += [ruling.violation] if ruling.violation is not None else []
        permitted += ruling.permitted
    if owed:
        return Verdict(violations=_once(owed), permitted=_once(permitted), notes=notes)
    return _scoped([part for part in parts if not part.ignored], item, _once(permitted), notes)


def _scoped(parts: Sequence[Part], item: Item, permitted: tuple[Violation, ...], notes: tuple[str, ...]) -> Verdict:
    inside, outside = split_by_scope(parts, item)
    return Verdict(
        permitted=permitted,
        notes=notes,
        in_scope=inside,
        out_of_scope=outside,
        unchanged=not parts,
        sensitive=tuple(part.path for part in parts if is_sensitive(part.path)),
    )


def _weigh(found: Iterable[Violation], permits: frozenset[str]) -> tuple[list[Violation], list[Violation]]:
    owed: list[Violation] = []
    permitted: list[Violation] = []
    for each in found:
        passes = each.kind in PERMITTABLE and each.fingerprint in permits
        (permitted if passes else owed).append(each)
    return owed, permitted


def _ignored_parts(report: Manifest) -> list[Part]:
    """What the base ignores and the report sums up still has a name to be judged."""
    names = [ignored.path.removesuffix("/") for ignored in report.ignored]
    return [Part(kind=OperationKind.add, path=name, old=None, new=None, ignored=True) for name in names]


def _once(found: Iterable[Violation]) -> tuple[Violation, ...]:
    return tuple({each.fingerprint: each for each in found}.values())


def _too_many(many: TooManyChanges, item: Item) -> Violation:
    count = "no list of changes" if many.count is None else f"{many.count} changes"
    summary = f"the report has {count}; at most {MOST_CHANGES} can be judged"
    return violation(FindingKind.too_many_changes, item.id, summary, count=many.count, most=MOST_CHANGES)


def _malformed(field: str, message: str, item: Item, paths: tuple[str, ...] = ()) -> Violation:
    summary = f"the report cannot be trusted: {field} {message}"
    return violation(FindingKind.malformed_report, item.id, summary, paths=paths, field=field, message=message)
