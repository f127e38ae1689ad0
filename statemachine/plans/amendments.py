"""A plan after its agent left the declared scope: what may be granted, and what a revision may not touch."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from statemachine.paths import is_utf8
from statemachine.plans.declarations import Item, Operation, OperationKind, Plan
from statemachine.plans.problems import PlanInvalid, Problem
from statemachine.plans.scopes import permits, spell
from statemachine.refusals import NotFound
from statemachine.texts import quote

Seen = tuple[OperationKind, str]


def amend_with(plan: Plan, item_id: str, out_of_scope: Sequence[Seen]) -> Plan:
    """Let one item do exactly what was seen outside its scope, beside what it declared; no limit counts these."""
    item = plan.item(item_id)
    if item is None:
        raise NotFound("item_not_found", f"the plan has no item {quote(item_id, 80)}", item=item_id)
    amended = replace(item, operations=(*item.operations, *granted(item, out_of_scope)))
    return replace(plan, items=tuple(amended if each is item else each for each in plan.items))


def granted(item: Item, out_of_scope: Sequence[Seen]) -> tuple[Operation, ...]:
    """List the operations that would let an item do what was seen, each once, in the order seen."""
    missing = dict.fromkeys((kind, path) for kind, path in out_of_scope if not permits(item, kind, path))
    return tuple(_declared(kind, path) for kind, path in missing)


def revision_problems(
    old: Plan,
    new: Plan,
    *,
    done_item_ids: Collection[str],
    paused_item: str | None = None,
    out_of_scope: Sequence[Seen] = (),
) -> tuple[Problem, ...]:
    """List how a revision alters work that is done; the paused item may gain all it was paused for, or nothing."""
    if not done_item_ids:
        return ()
    done = [item for item in old.items if item.id in done_item_ids]
    problems = [problem for item in done for problem in _done_problems(item, new, paused_item, out_of_scope)]
    return (*_base_problems(old, new), *problems, *_order_problems(done, new))


def _declared(kind: OperationKind, path: str) -> Operation:
    if not is_utf8(path) or "\x00" in path:
        hint = "reject the pause: the item's commit is set aside and the item runs again"
        raise PlanInvalid([Problem(where=(), message=f"no plan can declare the path {quote(path)}", hint=hint)])
    return Operation(kind=kind, path=spell(path))


def _done_problems(old: Item, new: Plan, paused: str | None, seen: Sequence[Seen]) -> Iterator[Problem]:
    item = new.item(old.id)
    if item is None:
        message = f"item `{old.id}` is done and missing"
        yield Problem(where=("items",), message=message, hint="keep items that are done as they were")
    elif item != old and not (old.id == paused and _is_grant(old, item, seen)):
        hint = "it may gain exactly the paths it is paused for" if old.id == paused else "add a new item instead"
        where = ("items", new.items.index(item))
        yield Problem(where=where, message=f"item `{old.id}` is done and may not be altered", hint=hint)


def _is_grant(old: Item, new: Item, seen: Sequence[Seen]) -> bool:
    gained = [operation for operation in new.operations if operation not in old.operations]
    kept = [operation for operation in new.operations if operation in old.operations]
    expected = granted(old, seen)
    same_otherwise = replace(new, operations=old.operations) == old
    return same_otherwise and kept == list(old.operations) and _same(gained, expected)


def _same(gained: Sequence[Operation], expected: Sequence[Operation]) -> bool:
    return len(gained) == len(expected) and set(gained) == set(expected)


def _base_problems(old: Plan, new: Plan) -> Iterator[Problem]:
    if new.base != old.base:
        hint = "add a new task for another base"
        yield Problem(where=("base",), message="cannot change while items are done", hint=hint)


def _order_problems(done: Sequence[Item], new: Plan) -> Iterator[Problem]:
    ids = [item.id for item in done]
    first = [item.id for item in new.items[: len(ids)]]
    if first != ids and set(ids) <= {item.id for item in new.items}:
        hint = "keep them first and in their order; new items go below"
        yield Problem(where=("items",), message="items that are done were moved", hint=hint)
