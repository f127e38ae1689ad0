"""From what a person typed to the row it names."""

from typing import Final
from uuid import UUID

from cli.frame.identifiers import Noun, Number, Prefix, full
from statemachine.refusals import NotFound, Refusal
from store import attempts, gates, tasks
from store.attempts import Attempt
from store.engine import Connection
from store.gates import Gate
from store.statements import statement

_TABLES: Final = {
    Noun.attempt: "attempt",
    Noun.gate: "gate",
    Noun.allocation: "allocation",
    Noun.merge: "merge_attempt",
}


def gate_named(db: Connection, found: Number | Prefix) -> Gate:
    """Find a gate by its own name, or the one a task waits at."""
    if isinstance(found, Prefix):
        return gates.get(db, uuid_of(db, found))
    task = tasks.get(db, found.value)
    gate = gates.open_gate(db, task)
    if gate is None:
        raise Refusal(
            "no_open_gate",
            f"task {task.id} is {task.state} and waits at no gate",
            hint=f"tasks show {task.id}",
            state=task.state,
        )
    return gate


def attempt_at(db: Connection, found: Number | Prefix) -> Attempt:
    """Find an attempt by its own name, or the latest one of a task."""
    if isinstance(found, Prefix):
        return attempts.get_attempt(db, uuid_of(db, found))
    every = attempts.listing(db, tasks.get(db, found.value).id)
    if not every:
        raise NotFound("attempt_not_found", f"task {found.value} has no attempt yet", hint=f"tasks show {found.value}")
    return every[-1]


def attempt_named(db: Connection, found: Prefix, *, task: int) -> Attempt:
    """Find an attempt of this task."""
    attempt = attempts.get_attempt(db, uuid_of(db, found))
    if attempt.task_id != task:
        raise NotFound(
            "attempt_not_found",
            f"attempt {found} belongs to task {attempt.task_id}, not to task {task}",
            hint=f"tasks show {task}",
            task=attempt.task_id,
        )
    return attempt


def uuid_of(db: Connection, found: Prefix) -> UUID:
    """Find the one row whose uuid starts so; more than one is listed and none is taken."""
    low, high = found.bounds
    names = {"low": str(low), "high": str(high)}
    rows = db.execute(statement("find_ids").replace("{noun}", _TABLES[found.noun]), names).fetchall()
    if not rows:
        raise NotFound(f"{found.noun}_not_found", f"there is no {found.noun} {found}", hint="tasks list")
    if len(rows) > 1:
        listed = [f"{full(found.noun, UUID(row['id']))} (task {row['task_id']})" for row in rows]
        raise NotFound(
            "ambiguous_id",
            f"{found} could be any of {len(rows)}: {', '.join(listed)}",
            hint="write more digits",
            candidates=[full(found.noun, UUID(row["id"])) for row in rows],
        )
    return UUID(rows[0]["id"])
