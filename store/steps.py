"""Between items: read what decides a held task's next step."""

from dataclasses import dataclass
from typing import Any

from statemachine.attempts import AttemptKind, StopReason
from statemachine.refusals import LeaseLost
from statemachine.settlement import retry_left
from statemachine.steps import NextItem, StepFacts
from store import plans, tasks
from store.engine import Connection
from store.rows import one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    stop_reason: StopReason | None
    cancel_requested: bool
    failures: int
    retries: int | None
    budget_spent: bool
    plan_asks: bool
    plan_approved: bool
    checks: list[str]
    check_retries: int
    items: list[dict[str, Any]]
    results: dict[str, bool]


def facts(db: Connection, *, task: int, epoch: int) -> StepFacts:
    """Read what is done, approved, checked and asked of a task this worker holds; raises `LeaseLost`."""
    rows = one(db, _Rows, "step_facts", task=task, epoch=epoch)
    if rows is None:
        raise LeaseLost(task=task, epoch=epoch)
    return StepFacts(
        budget_spent=rows.budget_spent,
        cancel_requested=rows.cancel_requested,
        stop=rows.stop_reason is not None,
        plan_asks=rows.plan_asks and not rows.plan_approved,
        item=_next_item(rows),
        checks=tuple(rows.checks),
        passed=frozenset(command for command, passed in rows.results.items() if passed),
        failed=frozenset(command for command, passed in rows.results.items() if not passed),
        check_retry_left=_left(rows, rows.check_retries),
    )


def kind_after(db: Connection, *, task: int, done: str) -> AttemptKind:
    """Name the kind of work that is due once an item is done; what only needs submitting is anybody's."""
    undone = next((item for item in plans.items(db, task) if not item.outcome and item.item_id != done), None)
    if undone:
        return AttemptKind(undone.kind)
    row = tasks.get(db, task)
    checked = plans.current(db, task=task, number=row.revision).plan.checks
    return AttemptKind.check if checked else AttemptKind.execute


def _next_item(rows: _Rows) -> NextItem | None:
    undone = next((item for item in rows.items if not item["done"]), None)
    if undone is None:
        return None
    return NextItem(
        id=undone["item"],
        kind=AttemptKind(undone["kind"]),
        asks=undone["asks"] and not undone["approved"],
        retry_left=_left(rows, undone["retries"]),
    )


def _left(rows: _Rows, retries: int) -> bool:
    return retry_left(failures=rows.failures, retries=retries if rows.retries is None else rows.retries)
