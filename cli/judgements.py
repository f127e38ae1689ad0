"""What a person does with one finding, and how a finding is told."""

from collections.abc import Mapping
from typing import Any

from cli.documents import as_json
from cli.identifiers import Noun, short
from cli.portraits import aligned
from cli.show import when
from statemachine.findings import FindingKind, FindingState
from statemachine.refusals import Refusal
from statemachine.tasks import CLOSED
from statemachine.texts import one_line, quote
from store import findings, ledger, tasks
from store.attempts import Attempt
from store.engine import Connection
from store.findings import Finding, NewFinding
from store.tasks import Task

MOST_EVIDENCE = 200
"""Lines of evidence a person is shown; `--json` has all of it."""


def record(db: Connection, task: int, summary: str, *, attempt: Attempt | None, actor: str) -> Finding:
    """Record what a person saw; saying the same again while it is open adds nothing."""
    item = attempt.item_id if attempt else None
    # Its words are all there is to tell one person's finding from another.
    seen = NewFinding.seen(FindingKind.manual, summary, item=item, paths=[summary])
    findings.record(db, task, [seen], actor=actor, attempt=attempt.id if attempt else None, item=item)
    owed = findings.listing(db, task=task, state=FindingState.open)
    return next(row for row in owed if row.fingerprint == seen.fingerprint)


def accept(db: Connection, finding: int, *, actor: str, reason: str, if_version: int | None) -> Finding:
    """Accept one finding where nothing more follows from it; else its gate is the place.

    Accepting it about work that counts takes the work back, and that is decided together with everything owed.
    """
    task = tasks.lock(db, findings.get(db, finding).task_id, if_version=if_version)
    row = findings.get(db, finding)
    done = {entry.attempt_id for entry in ledger.live(db, task.id)}
    if (
        row.state is FindingState.open
        and task.state not in CLOSED
        and (row.attempt_id is None or row.attempt_id in done)
    ):
        raise _at_the_gate(row, task)
    return findings.decide(db, finding, state=FindingState.accepted, actor=actor, reason=reason)


def dismiss(db: Connection, finding: int, *, actor: str, reason: str, permit: bool, if_version: int | None) -> Finding:
    """Dismiss one finding; its task stays at its gate until somebody lets it pass."""
    tasks.lock(db, findings.get(db, finding).task_id, if_version=if_version)
    return findings.decide(db, finding, state=FindingState.dismissed, actor=actor, reason=reason, permit=permit)


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


def next_steps(row: Finding) -> list[str]:
    """List what may be typed next about a finding."""
    if row.state is not FindingState.open:
        return [f"tasks show {row.task_id}"]
    if row.late:
        return [f"tasks finding dismiss {row.id} --reason TEXT", f"tasks finding accept {row.id} --reason TEXT"]
    return [f"tasks gate show {row.task_id}"]


def _at_the_gate(row: Finding, task: Task) -> Refusal:
    why = "takes back work that counts" if row.attempt_id else "asks for changes"
    then = "" if row.attempt_id else " --then changes --guidance TEXT"
    return Refusal(
        "decide_at_gate",
        f"accepting finding {row.id} {why}, so it is accepted at the gate of task {task.id}",
        hint=f"tasks gate approve {task.id} --accept {row.id} --reason TEXT{then}",
        finding=row.id,
        task=task.id,
    )
