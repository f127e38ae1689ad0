"""What one change may not be: the rules in their order, of which the first that matches counts.

A rule a person permitted for this very change is passed, and with it every later one a person could
permit: they looked at this path and this target. What nobody can permit is still asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from screening.evidence import shown_side
from screening.links import unsafe_target
from screening.names import bad_name
from screening.parts import Part
from screening.policies import Policy
from screening.verdicts import Violation, violation
from statemachine.findings import PERMITTABLE, FindingKind
from statemachine.paths import names_gitmodules
from statemachine.plans import Item, OperationKind, declares_exactly, declares_link
from statemachine.texts import quote

Broken = tuple[FindingKind, str] | None
Rule = Callable[[Part, Item], Broken]


@dataclass(frozen=True, slots=True)
class Ruling:
    """Say what came of one part: what is owed, if anything, and what a person had permitted."""

    violation: Violation | None
    permitted: tuple[Violation, ...]


def rule_on(part: Part, *, item: Item, policy: Policy, permits: frozenset[str]) -> Ruling:
    """Try the rules on one part, in order, until one is owed."""
    permitted: list[Violation] = []
    for rule in _rules_for(part, policy):
        broken = rule(part, item)
        if broken is None or (permitted and broken[0] in PERMITTABLE):
            continue
        found = _violation(broken, part, item)
        if found.kind not in PERMITTABLE or found.fingerprint not in permits:
            return Ruling(found, tuple(permitted))
        permitted.append(found)
    return Ruling(None, tuple(permitted))


def _named_badly(part: Part, _: Item) -> Broken:
    return bad_name(part.path)


def _ignored(_: Part, __: Item) -> Broken:
    return FindingKind.ignored_file, "is ignored by the base's own rules"


def _submodule(part: Part, _: Item) -> Broken:
    touched = "gitlink" in _types(part)
    return (FindingKind.gitlink_change, "is or was a submodule") if touched else None


def _nested_repository(part: Part, _: Item) -> Broken:
    nested = "repository" in _types(part)
    return (FindingKind.nested_repository, "is a repository of its own") if nested else None


def _undeclared_old_link(part: Part, item: Item) -> Broken:
    if part.old is None or part.old.type != "symlink" or declares_exactly(item, part.path):
        return None
    return FindingKind.undeclared_symlink_change, "was a symlink, and the item does not declare this path"


def _gitmodules_link(part: Part, _: Item) -> Broken:
    if _target(part) is None or not names_gitmodules(part.path):
        return None
    return FindingKind.git_named_path, "is what git reads as `.gitmodules`, and may not be a symlink"


def _new_link(part: Part, item: Item) -> Broken:
    was_link = part.old is not None and part.old.type == "symlink"
    if _target(part) is None or was_link or declares_link(item, part.path):
        return None
    return FindingKind.new_symlink, "is a new symlink that the item does not declare with `link: true`"


def _undeclared_target(part: Part, item: Item) -> Broken:
    if _target(part) is None or declares_link(item, part.path):
        return None
    return FindingKind.undeclared_symlink_change, "leads elsewhere, and the item does not declare it with `link: true`"


def _unsafe_target(part: Part, _: Item) -> Broken:
    target = _target(part)
    why = None if target is None else unsafe_target(part.path, target)
    return None if why is None else (FindingKind.out_of_root_link, f"is a symlink whose target {why}")


def _traversing_link(part: Part, _: Item) -> Broken:
    if _target(part) is None or part.through_link is False:
        return None
    return FindingKind.through_link, "is a symlink that is not proven to lead through no other link"


def _folder(part: Part, _: Item) -> Broken:
    return (
        (FindingKind.unexpected_directory, "is a folder where none can be stored") if _is(part, "directory") else None
    )


def _special(part: Part, _: Item) -> Broken:
    return (FindingKind.special_file, "is a pipe, a socket or a device") if _is(part, "special") else None


def _unreadable(part: Part, _: Item) -> Broken:
    return (FindingKind.unreadable, "could not be read") if _is(part, "unreadable") else None


def _colliding(part: Part, _: Item) -> Broken:
    if part.kind is not OperationKind.add or not part.collides:
        return None
    return FindingKind.path_collision, "differs from another path only in case or Unicode form"


RULES: Final[tuple[Rule, ...]] = (
    _named_badly,
    _submodule,
    _nested_repository,
    _undeclared_old_link,
    _gitmodules_link,
    _new_link,
    _undeclared_target,
    _unsafe_target,
    _traversing_link,
    _folder,
    _special,
    _unreadable,
    _colliding,
)


def _rules_for(part: Part, policy: Policy) -> tuple[Rule, ...]:
    """What the base ignores is never committed, so only its name and the policy matter."""
    if not part.ignored:
        return RULES
    return (_named_badly, _ignored) if policy.ignored != "note" else (_named_badly,)


def _types(part: Part) -> set[str]:
    return {side.type for side in (part.old, part.new) if side is not None}


def _is(part: Part, kind: str) -> bool:
    return part.new is not None and part.new.type == kind


def _target(part: Part) -> str | None:
    """Give where a part's new symlink leads, or None where it is no symlink."""
    return part.new.target if part.new is not None and part.new.type == "symlink" else None


def _violation(broken: tuple[FindingKind, str], part: Part, item: Item) -> Violation:
    kind, why = broken
    target = _target(part)
    summary = f"{quote(part.path)} {why}" + ("" if target is None else f"; it leads to {quote(target)}")
    return violation(
        kind,
        item.id,
        summary,
        paths=(part.path,),
        target=target or "",
        why=why,
        operation=part.kind.value,
        renamed_with=part.other,
        old=shown_side(part.old),
        new=shown_side(part.new),
        through_link=part.through_link,
    )
