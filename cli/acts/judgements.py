"""What a person does with one finding."""

from statemachine.findings import FindingKind, FindingState
from statemachine.refusals import Refusal
from statemachine.tasks import CLOSED
from store import findings, ledger, tasks
from store.attempts import Attempt
from store.engine import Connection
from store.findings import Finding, NewFinding
from store.tasks import Task


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
