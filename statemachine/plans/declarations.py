"""What a plan declares: items, and the operations each may do to which paths."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

MOST_ITEMS: Final = 30
MOST_OPERATIONS: Final = 40
LONGEST_TITLE: Final = 120


class OperationKind(StrEnum):
    """Name what may be done: `edit` is content, mode or type; `rename` a delete of one path and an add of another."""

    edit = "edit"
    add = "add"
    delete = "delete"
    rename = "rename"


class ItemKind(StrEnum):
    """Say where an item came from: the author's plan, or a reviewer who asked for changes."""

    execute = "execute"
    fix = "fix"


class ApprovalMode(StrEnum):
    """Say whether a person is asked before it runs."""

    none = "none"
    before = "before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Declare one operation on a path, a folder ending in `/`, or a glob (see `scopes` for the spelling)."""

    kind: OperationKind
    path: str
    renamed_from: str | None = None
    link: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Declare one small piece of work and every path it may touch."""

    id: str
    title: str
    intent: str
    operations: tuple[Operation, ...]
    kind: ItemKind = ItemKind.execute
    depends_on: tuple[str, ...] = ()
    approval: ApprovalMode = ApprovalMode.none
    time_limit: timedelta | None = None
    retries: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Declare a task: its items in order, where it starts and where it is merged."""

    title: str
    base: str
    target: str | None
    agent: str | None
    items: tuple[Item, ...]
    approval: ApprovalMode = ApprovalMode.none
    fixed_if: str | None = None
    budget: timedelta | None = None
    checks: tuple[str, ...] = ()
    check_retries: int = 0
    review: str | None = None

    def item(self, item_id: str) -> Item | None:
        """Find an item by its id."""
        return next((item for item in self.items if item.id == item_id), None)
