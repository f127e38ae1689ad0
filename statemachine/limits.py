"""Limits a person's writing must keep: what a reviewer granted, or asked for, may exceed them.

An amended item can hold more operations than a person may write, and a path that only a hostile run
would make; an appended `fix` item is one more than the most. Both are exempt as they were granted.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from statemachine.plans.declarations import LONGEST_TITLE, MOST_ITEMS, MOST_OPERATIONS, Item, ItemKind, Operation, Plan
from statemachine.plans.problems import Problem, Where

_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROLS_IN_PROSE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOST_CHECKS: Final = 50


def writing_problems(plan: Plan, granted: Collection[Item] = ()) -> Iterator[Problem]:
    """List every limit the writing exceeds; an item equal to a granted one is as its reviewer left it."""
    yield from _plan_problems(plan)
    written = [item for item in plan.items if item not in granted]
    if len([item for item in written if item.kind is ItemKind.execute]) > MOST_ITEMS:
        yield Problem(where=("items",), message=f"has {len(written)} items", hint=f"write at most {MOST_ITEMS}")
    for at, item in enumerate(plan.items):
        if item not in granted:
            yield from _item_problems(item, ("items", at))


def _plan_problems(plan: Plan) -> Iterator[Problem]:
    yield from _title_problems(plan.title, ("title",))
    for name in ("agent", "fixed_if", "review"):
        yield from _line_problems(getattr(plan, name) or "", (name,))
    for at, check in enumerate(plan.checks):
        yield from _line_problems(check, ("checks", at))
    if len(plan.checks) > _MOST_CHECKS:
        yield Problem(where=("checks",), message=f"has {len(plan.checks)} checks", hint=f"write at most {_MOST_CHECKS}")


def _item_problems(item: Item, where: Where) -> Iterator[Problem]:
    yield from _title_problems(item.title, (*where, "title"))
    if _CONTROLS_IN_PROSE.search(item.intent):
        yield _control((*where, "intent"), "line breaks and tabs are fine, other control characters are not")
    if item.kind is ItemKind.fix:
        hint = "leave `kind` out; a reviewer's requested changes become fix items"
        yield Problem(where=(*where, "kind"), message="is `fix`, which no plan file writes", hint=hint)
    if len(item.operations) > MOST_OPERATIONS:
        message = f"has {len(item.operations)} operations"
        hint = f"write at most {MOST_OPERATIONS}; a folder such as `src/` or a glob such as `src/**/*.py` is one"
        yield Problem(where=(*where, "files"), message=message, hint=hint)
    for at, operation in enumerate(item.operations):
        yield from _operation_problems(operation, (*where, "files", at))


def _operation_problems(operation: Operation, where: Where) -> Iterator[Problem]:
    yield from _line_problems(operation.path, (*where, operation.kind.value))
    yield from _line_problems(operation.renamed_from or "", (*where, "renamed_from"))


def _title_problems(title: str, where: Where) -> Iterator[Problem]:
    yield from _line_problems(title, where)
    if len(title) > LONGEST_TITLE:
        hint = f"use at most {LONGEST_TITLE}; the rest belongs in `intent`"
        yield Problem(where=where, message=f"has {len(title)} characters", hint=hint)


def _line_problems(text: str, where: Where) -> Iterator[Problem]:
    if _CONTROLS.search(text):
        yield _control(where, "write it on one line, without control characters")


def _control(where: Where, hint: str) -> Problem:
    return Problem(where=where, message="holds a control character", hint=hint)
