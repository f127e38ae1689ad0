"""A task in words: where it is, what became of each item, what is owed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cli.frame.identifiers import Noun, short
from cli.frame.screen import cell, when
from cli.pages.nouns import why
from cli.pages.views import View
from statemachine.allocations import AllocationState
from statemachine.durations import show_duration
from statemachine.tasks import CLOSED, TaskState
from statemachine.texts import one_line, quote
from store.attempts import Attempt
from store.findings import Finding
from store.plans import ItemRow

S = TaskState

_SHOWN: Final = 12
"""Hex digits of a commit in a sentence."""

_STANDS: Final[dict[TaskState, str]] = {
    S.queued: "it waits for a worker",
    S.approved: "it can be merged",
    S.merge_blocked: "its last merge was not applied",
    S.merging: "whether its merge arrived is not known yet",
}

_HELD: Final = dict.fromkeys((AllocationState.reserved, AllocationState.ready), "workspace")
"""How a workspace is called while a task has it; afterwards by what became of it."""


def stands(view: View) -> str:
    """Say in one sentence where a task is and what it waits for."""
    task, gate = view.task, view.gate
    if gate:
        return f"task {task.id} is {task.state} and waits for you ({gate.kind}): {one_line(gate.reason, 300)}"
    told = [_STANDS.get(task.state, ""), _later(view), _running(view), _stopping(view)]
    return f"task {task.id} is {task.state}" + "".join(f"{mark}{said}" for mark, said in _joined(told))


def _joined(parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((", " if row else ": ", part) for row, part in enumerate(filter(None, parts)))


def _later(view: View) -> str:
    return f"not before {when(view.task.available_at)}" if view.waits_for_time else ""


def _running(view: View) -> str:
    """Say which attempt goes on, since when, and whether its worker still speaks."""
    if view.running is None:
        return ""
    attempt, worker = view.running.attempt, view.running.worker
    began = attempt.started_at or attempt.admitted_at
    limit = f" of {show_duration(view.running.time_limit)}" if view.running.time_limit else ""
    return (
        f"{attempt.item_id or 'checks'} attempt {attempt.number} for {show_duration(view.now - began)}{limit}, "
        f"worker {one_line(worker.name)}, heard {show_duration(view.now - worker.heartbeat_at)} ago"
    )


def _stopping(view: View) -> str:
    if view.task.state is not S.running or not view.task.stop_reason:
        return ""
    return "closed as soon as this has ended" if view.task.cancel_requested else "asked to stop"


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
        ("not before", when(task.available_at) if view.waits_for_time else ""),
        ("budget", budget),
        (_HELD.get(kept.state, kept.state.value) if kept else "", workspace),
        ("added", f"{when(task.added_at)} by {quote(task.author)}"),
        ("version", str(task.version)),
        ("guidance", one_line(task.guidance, 300) if _is_pending(view) else ""),
    ]
    return [(name, value) for name, value in every if value]


def _is_pending(view: View) -> bool:
    """Tell whether somebody's words wait to be put into a prompt."""
    return bool(view.task.guidance) and view.undone is not None and view.task.state not in CLOSED


def _item(row: ItemRow) -> tuple[str, ...]:
    state = f"{row.state}, taken back" if row.taken_back else row.state
    return (one_line(row.item_id), state, abbreviated(row.commit), one_line(row.title))


def _attempt(row: Attempt) -> tuple[str, ...]:
    exit_code = f"exit {row.exit_code}" if row.exit_code is not None else ""
    said = ", ".join(part for part in (why(row).removeprefix("exit"), exit_code) if part)
    because = ": ".join(part for part in (said, one_line(row.failure, 200)) if part)
    return (str(row.number), short(Noun.attempt, row.id), row.item_id or row.kind, row.state, because)


def _finding(row: Finding) -> tuple[str, ...]:
    return (f"finding {row.id}", row.kind, one_line(row.summary, 300))
