"""How one finding is told, and what may be typed next about it."""

from collections.abc import Mapping
from typing import Any, Final

from cli.frame.documents import as_json
from cli.frame.identifiers import Noun, short
from cli.frame.screen import when
from cli.pages.portraits import aligned
from statemachine.findings import FindingState
from statemachine.texts import one_line, quote
from store.findings import Finding
from store.tasks import Task

MOST_EVIDENCE: Final = 200
"""Lines of evidence a person is shown; `--json` has all of it."""


def lines(row: Finding) -> list[str]:
    """Tell a finding: the first line by itself says what it is."""
    late = ", recorded after the task was closed" if row.late else ""
    decided = f"{row.state} by {quote(row.decided_by or '')}, {when(row.decided_at)}" if row.decided_at else ""
    facts = [
        ("recorded", f"{when(row.recorded_at)} by {quote(row.recorded_by)}"),
        ("item", quote(row.item_id) if row.item_id else ""),
        ("attempt", short(Noun.attempt, row.attempt_id) if row.attempt_id else ""),
        ("decided", decided),
        ("reason", quote(row.reason, 500) if row.reason else ""),
        ("permitted", "the same on this item and these declared files passes from now on" if row.permit else ""),
    ]
    return [
        f"finding {row.id} of task {row.task_id} is {row.state}{late}: {row.kind}: {one_line(row.summary, 4_000)}",
        *aligned([(name, value) for name, value in facts if value]),
        *evidence(row.evidence),
    ]


def evidence(found: Mapping[str, Any], indent: str = "  ") -> list[str]:
    """Write evidence as JSON in ASCII: quoted, and nothing in it can move a terminal."""
    if not found:
        return []
    written = as_json(found, indent=2).splitlines()
    rest = len(written) - MOST_EVIDENCE
    more = [f"{indent}and {rest} more lines: --json shows all"] if rest > 0 else []
    return [f"{indent}evidence", *(f"{indent}  {line}" for line in written[:MOST_EVIDENCE]), *more]


def next_steps(row: Finding, waiting: Task | None = None) -> list[str]:
    """List what may be typed next about a finding; `waiting` is its task where nothing is left to be decided."""
    if waiting is not None:
        return [f"tasks gate approve {waiting.id}", f"tasks gate show {waiting.id}"]
    if row.state is not FindingState.open:
        return [f"tasks show {row.task_id}"]
    if row.late:
        return [f"tasks finding dismiss {row.id} --reason TEXT", f"tasks finding accept {row.id} --reason TEXT"]
    return [f"tasks gate show {row.task_id}"]
