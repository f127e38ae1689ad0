"""A plan as a plain document: the same shape in a file, in a row and in JSON."""

import hashlib
import json
from collections.abc import Mapping

from statemachine.durations import show_duration
from statemachine.plans.declarations import ApprovalMode, Item, ItemKind, Operation, Plan


def plan_to_document(plan: Plan) -> dict[str, object]:
    """Write a plan as a JSON object; what has its default value is left out."""
    return _without_nothing(
        {
            "title": plan.title,
            "base": plan.base,
            "target": plan.target,
            "agent": plan.agent,
            "approval": _asked(plan.approval),
            "fixed_if": plan.fixed_if,
            "budget": None if plan.budget is None else show_duration(plan.budget),
            "checks": list(plan.checks) or None,
            "check_retries": plan.check_retries or None,
            "review": plan.review,
            "items": [item_to_document(item) for item in plan.items],
        }
    )


def item_to_document(item: Item) -> dict[str, object]:
    """Write one item as a JSON object."""
    return _without_nothing(
        {
            "id": item.id,
            "title": item.title,
            "intent": item.intent or None,
            "kind": None if item.kind is ItemKind.execute else item.kind.value,
            "files": [_operation_to_document(operation) for operation in item.operations],
            "depends_on": list(item.depends_on) or None,
            "approval": _asked(item.approval),
            "time_limit": None if item.time_limit is None else show_duration(item.time_limit),
            "retries": None if item.retries == 1 else item.retries,
        }
    )


def item_digest(item: Item) -> str:
    """Name an item by everything it says, so that an approval of it holds until one word changes."""
    text = json.dumps(item_to_document(item), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _operation_to_document(operation: Operation) -> dict[str, object]:
    written = {operation.kind.value: operation.path, "renamed_from": operation.renamed_from}
    return _without_nothing({**written, "link": operation.link or None})


def _asked(mode: ApprovalMode) -> str | None:
    return None if mode is ApprovalMode.none else mode.value


def _without_nothing(document: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in document.items() if value is not None}
