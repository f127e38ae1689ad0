"""What the tests of the store's verbs have in common: short words to look, to decide, to race and to let time pass."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any, Final, TypeVar
from uuid import UUID

import psycopg

from statemachine.attempts import StopReason
from statemachine.findings import FindingState
from statemachine.plans import Plan
from statemachine.refusals import Refusal
from statemachine.settlement import Isolation, Outcome
from statemachine.steps import Step, next_step
from store import answers, attempts, checks, claims, findings, gates, interventions, plans, steps, tasks
from store.attempts import Attempt
from store.engine import Connection, Database
from store.findings import Finding
from store.gates import Gate
from store.tasks import Line, Task
from store.words import Word
from tests.factories import a_finding

Answer = TypeVar("Answer")

HOUR: Final = timedelta(hours=1)
EXTRA: Final = ({"operation": "add", "path": "extra.txt"},)
DONE: Final[dict[str, Any]] = {"outcome": Outcome.committed, "exit_code": 0}
UNSAFE: Final[dict[str, Any]] = {"findings": (a_finding(),)}
LOST: Final[dict[str, Any]] = {"exit_code": None, "recovering": True, "recovered": True}
DIRTY: Final = "a\x00b\ud800c"
ODD: Final = DIRTY + "x" * 10_000


# ---------------------------------------------------------------- look


def seen(database: Database, task: Task) -> Task:
    """Read a task as it is now."""
    with database.connection() as db:
        return tasks.get(db, task.id)


def moves(database: Database, task: Task) -> list[Line]:
    """List the moves of a task, without what else its history shows."""
    with database.connection() as db:
        return [line for line in tasks.history(db, task.id) if line.dest and line.event != "plan_revision"]


def events(database: Database, task: Task) -> list[str]:
    """List the names of a task's moves."""
    return [line.event for line in moves(database, task)]


def the_gate(database: Database, task: Task) -> Gate:
    """Read the gate a task waits at."""
    with database.connection() as db:
        gate = gates.open_gate(db, tasks.get(db, task.id))
    assert gate is not None, f"task {task.id} waits at no gate"
    return gate


def gates_of(superuser_url: str, task: Task) -> list[tuple[str, str]]:
    """List kind and state of every gate a task ever had."""
    rows = asked(superuser_url, "SELECT kind, state FROM gate WHERE task_id = %s ORDER BY opened_at", task.id)
    return [(kind, state) for kind, state in rows]


def owed(database: Database, task: Task) -> list[Finding]:
    """List what a task owes."""
    with database.connection() as db:
        return findings.owed(db, task.id)


def what_is_next(database: Database, task: Task) -> Step:
    """Tell what a worker would do next with a task it holds."""
    with database.connection() as db:
        now = tasks.get(db, task.id)
        return next_step(steps.facts(db, task=task.id, epoch=now.lease_epoch))


# ---------------------------------------------------------------- decide


def approved(database: Database, task: Task, **word: Any) -> Task:
    """Say yes at the gate a task waits at."""
    gate = the_gate(database, task)
    with database.transaction() as db:
        return answers.approve(db, gate.id, said(**word)).task


def rejected(database: Database, task: Task, **word: Any) -> Task:
    """Say no at the gate a task waits at."""
    gate = the_gate(database, task)
    with database.transaction() as db:
        return answers.reject(db, gate.id, said(**word)).task


def said(**word: Any) -> Word:
    """Say something as a reviewer."""
    return Word(**{"actor": "rev", **word})


def decided(
    database: Database,
    finding: Finding,
    *,
    state: FindingState = FindingState.dismissed,
    reason: str = "seen",
    permit: bool = False,
) -> Finding:
    """Decide one finding as a reviewer."""
    with database.transaction() as db:
        return findings.decide(db, finding.id, state=state, actor="rev", reason=reason, permit=permit)


def noticed(database: Database, task: Task, summary: str = "a person saw this", **more: Any) -> Task:
    """Record a finding of a person on a task, in whatever state it is."""
    with database.transaction() as db:
        return findings.record(db, task.id, [a_finding(summary, **more)], actor="rev")


def revised(database: Database, task: Task, plan: Plan) -> Task:
    """Save a revision of a task that stays where it is, as one that is amended while it runs or waits does."""
    with database.transaction() as db:
        return revise(db, task, plan)


def revise(db: Connection, task: Task, plan: Plan) -> Task:
    """Save a revision in a transaction of the caller's."""
    now = tasks.lock(db, task.id)
    number = now.revision + 1
    plans.save(db, task=now.id, number=number, plan=plan, cause="amend", actor="ann", made_in=now.state.value)
    moved = "UPDATE task SET revision = %s, context = context + 1, version = version + 1 WHERE id = %s"
    db.execute(moved, (number, task.id))
    return tasks.get(db, task.id)


def change_policy(database: Database, task: Task) -> None:
    """Put another policy in force, as a change of a repository's policy will."""
    with database.connection() as db:
        db.execute("UPDATE repository SET policy_version = policy_version + 1 WHERE id = %s", (task.repository_id,))


# ---------------------------------------------------------------- what happens during a run


def stop(database: Database, task: Task, why: StopReason, actor: str = "worker") -> Task | None:
    """Ask a run to stop for a reason."""
    with database.connection() as db:
        return claims.request_stop(db, task=task.id, why=why, actor=actor)


def cancel(database: Database, task: Task, reason: str = "not needed") -> Task:
    """Cancel a task as a reviewer."""
    with database.transaction() as db:
        return interventions.cancel(db, task.id, actor="rev", reason=reason)


def isolation_failed(database: Database, attempt: Attempt, failure: Isolation = Isolation.timeout) -> None:
    """Note that the layer around the agent failed."""
    with database.connection() as db:
        attempts.note_isolation_failure(db, attempt, failure)


def a_check_ended(database: Database, attempt: Attempt, command: str, exit_code: int | None, head: str = "") -> None:
    """Remember how one command of a check attempt ended: on the head it was admitted for, unless another is named."""
    given: dict[str, Any] = {"head": head or attempt.base, "exit_code": exit_code, "tail": DIRTY}
    with database.connection() as db:
        checks.add(db, task=attempt.task_id, attempt=attempt.id, command=command, passed=exit_code == 0, **given)


def the_attempt(database: Database, attempt: Attempt) -> Attempt:
    """Read an attempt as it is now."""
    with database.connection() as db:
        return attempts.get_attempt(db, attempt.id)


# ---------------------------------------------------------------- race


def attempted(act: Callable[[], Answer]) -> Answer | Refusal:
    """Do something and give its answer, or the refusal it met."""
    try:
        return act()
    except Refusal as refusal:
        return refusal


def at_once(acts: Sequence[Callable[[], Answer]]) -> list[Answer | Refusal]:
    """Do things at the same moment, each in a thread of its own."""
    barrier = Barrier(len(acts))

    def one(act: Callable[[], Answer]) -> Answer | Refusal:
        barrier.wait()
        return attempted(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


def in_turn(
    database: Database, first: Callable[[Connection], object], second: Callable[[Connection], Answer]
) -> Answer | Refusal:
    """Do one thing, and before it is committed begin another that waits for its row lock; give what that came to."""

    def follow() -> Answer:
        with database.transaction() as db:
            return second(db)

    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as db:
            first(db)
            waiting = pool.submit(attempted, follow)
            until_blocked(database, waiting)
        return waiting.result()


def until_blocked(database: Database, waiting: "Future[Any]") -> None:
    """Wait until some statement of this database waits for a lock; fail where the other thread ended instead."""
    query = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with database.connection() as db:
        while db.execute(query).rowcount == 0:
            assert not waiting.done(), f"it did not wait: {waiting.result()!r}"


# ---------------------------------------------------------------- let time pass, and look behind the curtain


def asked(superuser_url: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Ask the administrator's way."""
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        return admin.execute(query.encode(), values).fetchall()


def aged(superuser_url: str, statement: str, *values: object) -> None:
    """Move a row in time: nothing but the administrator may, past every trigger."""
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        assert admin.execute(statement.encode(), values).rowcount > 0


def gate_id(task: Task) -> UUID:
    """Name the gate a task waits at."""
    assert task.gate_id is not None
    return task.gate_id
