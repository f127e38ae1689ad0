"""Read a plan from a plain document, with every problem of its shape."""

from collections.abc import Iterator
from typing import Final

from statemachine.plans.declarations import ApprovalMode, Item, ItemKind, Operation, OperationKind, Plan
from statemachine.plans.fields import Fields, Wrong
from statemachine.plans.problems import Problem, Where
from statemachine.plans.scopes import exact_path
from statemachine.plans.values import branch, choice, duration, filled, flag, item_id, path, revision, text, whole

_PLAN_FIELDS: Final = (
    *("title", "base", "target", "agent", "approval", "fixed_if", "budget"),
    *("checks", "check_retries", "review", "items"),
)
_ITEM_FIELDS: Final = ("id", "title", "intent", "kind", "files", "depends_on", "approval", "time_limit", "retries")
_FILE_FIELDS: Final = ("edit", "add", "delete", "rename", "renamed_from", "link")
_ONE_EACH: Final = "write one operation for each `- ` line"


def read_document(document: object) -> tuple[Plan, tuple[Problem, ...]]:
    """Read a plan and every problem of its shape; where there are any, placeholders stand in the plan."""
    problems: list[Problem] = []
    fields = Fields(document, (), problems, _PLAN_FIELDS)
    plan = Plan(
        title=fields.need("title", filled, ""),
        base=fields.need("base", revision, ""),
        target=fields.take("target", branch, None),
        agent=fields.take("agent", filled, None),
        items=_items(fields),
        approval=fields.take("approval", choice(ApprovalMode), ApprovalMode.none),
        fixed_if=fields.take("fixed_if", filled, None),
        budget=fields.take("budget", duration, None),
        checks=fields.values("checks", filled, ""),
        check_retries=fields.take("check_retries", whole, 0),
        review=fields.take("review", filled, None),
    )
    return plan, (*problems, *_order_problems(plan))


def _items(fields: Fields) -> tuple[Item, ...]:
    return fields.each("items", _item, Wrong("has no items", "add at least one item under `items:`"))


def _item(value: object, where: Where, problems: list[Problem]) -> Item:
    fields = Fields(value, where, problems, _ITEM_FIELDS)
    nothing = Wrong("declares no files", "say which files it may touch, such as `- edit: src/a.py` under `files:`")
    return Item(
        id=fields.need("id", item_id, ""),
        title=fields.need("title", filled, ""),
        intent=fields.take("intent", text, ""),
        operations=fields.each("files", _operation, nothing),
        kind=fields.take("kind", choice(ItemKind), ItemKind.execute),
        depends_on=fields.values("depends_on", item_id, ""),
        approval=fields.take("approval", choice(ApprovalMode), ApprovalMode.none),
        time_limit=fields.take("time_limit", duration, None),
        retries=fields.take("retries", whole, 1),
    )


def _operation(value: object, where: Where, problems: list[Problem]) -> Operation:
    fields = Fields(value, where, problems, _FILE_FIELDS)
    kinds = [kind for kind in OperationKind if fields.has(kind)]
    if fields.usable and len(kinds) != 1:
        fields.note(Wrong(f"names {len(kinds)} of `edit`, `add`, `delete` and `rename`", _ONE_EACH))
    paths = [fields.take(kind.value, path, "") for kind in kinds]
    operation = Operation(
        kind=kinds[0] if kinds else OperationKind.edit,
        path=paths[0] if paths else "",
        renamed_from=fields.take("renamed_from", path, None),
        link=fields.take("link", flag, default=False),
    )
    for wrong in (*_rename_problems(operation, fields), *_link_problems(operation)):
        fields.note(wrong)
    return operation


def _rename_problems(operation: Operation, fields: Fields) -> Iterator[Wrong]:
    is_rename = operation.kind is OperationKind.rename
    if is_rename and not fields.has("renamed_from"):
        yield Wrong("does not say what is renamed", "add `renamed_from: OLD PATH`")
    if fields.has("renamed_from") and not is_rename:
        yield Wrong("has `renamed_from` without `rename`", "write `rename: NEW PATH` with `renamed_from: OLD PATH`")
    if is_rename and operation.path and operation.renamed_from:
        yield from _two_sides(operation.path, operation.renamed_from)


def _two_sides(new: str, old: str) -> Iterator[Wrong]:
    if new == old:
        yield Wrong("renames a path to itself", "write two different paths")
    if (exact_path(new) is None) is not (exact_path(old) is None):
        yield Wrong(
            "renames one path to many, or many to one", "write both sides as paths, or both as folders or globs"
        )


def _link_problems(operation: Operation) -> Iterator[Wrong]:
    if operation.link and operation.path and exact_path(operation.path) is None:
        yield Wrong("lets a folder or a glob be symlinks", "write `link: true` for one exact path only")


def _order_problems(plan: Plan) -> Iterator[Problem]:
    """Ids are unique however they are cased, and an item depends on earlier ones only."""
    seen: dict[str, str] = {}
    ids = [item.id for item in plan.items]
    for at, item in enumerate(plan.items):
        if item.id and item.id.lower() in seen:
            message = f"is used twice: `{seen[item.id.lower()]}` and `{item.id}`"
            yield Problem(where=("items", at, "id"), message=message, hint="give every item an id of its own")
        yield from _dependency_problems(item, at, ids)
        seen.setdefault(item.id.lower(), item.id)


def _dependency_problems(item: Item, at: int, ids: list[str]) -> Iterator[Problem]:
    for number, wanted in enumerate(item.depends_on):
        message = _dependency_problem(item, number, at, ids) if wanted else None
        if message is not None:
            hint = "name items that stand above this one, each once"
            yield Problem(where=("items", at, "depends_on", number), message=message, hint=hint)


def _dependency_problem(item: Item, number: int, at: int, ids: list[str]) -> str | None:
    wanted = item.depends_on[number]
    if wanted in item.depends_on[:number]:
        return f"names `{wanted}` twice"
    if wanted in ids[:at]:
        return None
    if wanted == item.id:
        return "names the item itself"
    return f"names `{wanted}`, which stands below" if wanted in ids[at:] else f"names `{wanted}`, which is no item"
