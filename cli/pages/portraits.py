"""A task in words: where it is, what became of each item, what is owed."""

from collections.abc import Iterable, Sequence
from typing import Final

from cli.frame.identifiers import Noun, short
from cli.frame.screen import cell, when
from cli.pages.nouns import why
from cli.pages.views import View
from statemachine.allocations import AllocationState
from statemachine.durations import show_duration
from statemachine.gates import GateKind
from statemachine.tasks import TaskState
from statemachine.texts import one_line, quote
from store.attempts import Attempt
from store.findings import Finding
from store.plans import ItemRow

S, G = TaskState, GateKind

_SHOWN: Final = 12
"""Hex digits of a commit in a sentence."""

_STANDS: Final[dict[TaskState, str]] = {
    S.queued: "waits for a worker",
    S.running: "is being worked on",
    S.in_review: "is done and waits for your review",
    S.needs_human: "waits for you",
    S.needs_amendment: "touched files outside its declared scope and waits for you",
    S.needs_approval: "asks for your approval before it goes on",
    S.possibly_fixed: "waits for you: its base may hold the change already",
    S.approved: "can be merged",
    S.merge_blocked: "is approved, but its last merge was not applied",
}

_HELD: Final = dict.fromkeys((AllocationState.reserved, AllocationState.ready), "workspace")
"""How a workspace is called while a task has it; afterwards by what became of it."""


def stands(view: View) -> str:
    """Say in one sentence where a task is and what it waits for."""
    gate = f" ({view.gate.kind}: {one_line(view.gate.reason, 300)})" if view.gate else ""
    stop = "; it was asked to stop" if view.task.stop_reason and view.task.state is S.running else ""
    told = f": it {_STANDS[view.task.state]}" if view.task.state in _STANDS else ""
    return f"task {view.task.id} is {view.task.state}{told}{gate}{stop}"


def progress(view: View) -> list[str]:
    """Say what became of each item, and list what is owed."""
    return [*_titled("items", map(_item, view.items)), *_titled("owed", owed(view))]


def portrait(view: View, *, with_owed: bool = True) -> list[str]:
    """Tell everything about a task that fits a screen; what is owed may be told elsewhere at length."""
    return [
        stands(view),
        f"  {one_line(view.task.title)}",
        *aligned(_facts(view)),
        *_titled("items", map(_item, view.items)),
        *_titled("attempts", map(_attempt, view.attempts)),
        *(_titled("owed", owed(view)) if with_owed else []),
    ]


def owed(view: View) -> list[tuple[str, ...]]:
    """List what a person has to decide before a task goes on."""
    pause = view.pause.out_of_scope if view.pause else []
    return [
        *map(_finding, view.findings),
        *(("scope", each.get("operation", ""), quote(each.get("path", ""))) for each in pause),
    ]


def aligned(rows: Iterable[Sequence[object]], indent: str = "  ") -> list[str]:
    """Write rows as indented columns."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    return [indent + "  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def abbreviated(commit: str | None) -> str:
    """Shorten a commit id for a person."""
    return commit[:_SHOWN] if commit else ""


def _titled(title: str, rows: Iterable[Sequence[object]]) -> list[str]:
    lines = aligned(rows, indent="    ")
    return [f"  {title}", *lines] if lines else []


def _facts(view: View) -> list[tuple[str, str]]:
    task = view.task
    budget = f"{show_duration(task.budget)}, {show_duration(task.spent)} spent" if task.budget else ""
    kept = view.allocation
    workspace = f"{short(Noun.allocation, kept.id)} {quote(kept.path or '')}" if kept else ""
    every = [
        ("gate", f"{short(Noun.gate, view.gate.id)}, open since {when(view.gate.opened_at)}" if view.gate else ""),
        ("repository", quote(view.repository.name)),
        ("base", abbreviated(task.base)),
        ("head", abbreviated(task.head) if task.head != task.base else ""),
        ("target", f"{quote(task.target)} of {quote(view.repository.target)}"),
        ("executor", task.executor),
        ("budget", budget),
        (_HELD.get(kept.state, kept.state.value) if kept else "", workspace),
        ("added", f"{when(task.added_at)} by {quote(task.author)}"),
        ("version", str(task.version)),
    ]
    return [(name, value) for name, value in every if value]


def _item(row: ItemRow) -> tuple[str, ...]:
    return (one_line(row.item_id), row.state, abbreviated(row.commit), one_line(row.title))


def _attempt(row: Attempt) -> tuple[str, ...]:
    exit_code = f"exit {row.exit_code}" if row.exit_code is not None else ""
    said = ", ".join(part for part in (why(row), exit_code) if part)
    failure = one_line(row.failure, 200)
    return (short(Noun.attempt, row.id), row.kind, row.item_id or "", row.state, said, failure)


def _finding(row: Finding) -> tuple[str, ...]:
    return (f"finding {row.id}", row.kind, one_line(row.summary, 300))
