"""What a claim and a plain settlement cost: one round trip, one commit, and an index instead of a sort."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from statemachine.attempts import AttemptKind
from statemachine.settlement import Outcome
from store import claims, settlements
from store.engine import Connection, Database
from store.settlements import Report
from store.statements import statement
from store.tasks import Task
from tests.factories import LEASE, a_registered_repository, a_task, a_worker, an_attempt
from tests.store.scenes import asked

MANY = 4_000
BY_ID = {"task_pkey", "task_running_key", "task_gate_key"}
TYPES = {
    "worker": "bigint",
    "actor": "text",
    "kinds": "text[]",
    "executors": "text[]",
    "lease": "interval",
    "task": "bigint",
}


# ---------------------------------------------------------------- plans


@pytest.fixture
def full(superuser_url: str, database: Database) -> Iterator[psycopg.Connection]:
    """Fill the board with as many settled tasks as queued ones, past the triggers, and let the planner know."""
    repository = a_registered_repository(database)
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(
            "INSERT INTO task (repository_id, title, author, state, priority, next_kind, executor, base, head, target)"
            " SELECT %s, 'task ' || n, 'ann', (ARRAY['queued', 'merged'])[1 + n %% 2], n %% 3, 'execute', 'local',"
            "        repeat('b', 40), repeat('b', 40), 'main' FROM generate_series(1, %s) AS n",
            (repository.id, 2 * MANY),
        )
        admin.execute(
            "INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)"
            " SELECT id, seq, 'add', '', state, 0, 'ann' FROM task"
        )
        admin.execute("ANALYZE")
        yield admin


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("task", [None, 4711])
def test_a_claim_reads_the_index_of_what_is_queued_and_sorts_nothing(
    full: psycopg.Connection, mode: str, task: int | None
) -> None:
    text = re.sub(r"%\((\w+)\)s", lambda found: f"${list(TYPES).index(found[1]) + 1}", statement("claim_task"))
    full.execute(f"PREPARE claiming ({', '.join(TYPES.values())}) AS {text}".encode())
    full.execute(f"SET plan_cache_mode = {mode}".encode())
    given = f"7, 'w', '{{execute,fix,check}}', '{{local}}', '90 s', {task or 'NULL'}"

    found = full.execute(f"EXPLAIN (FORMAT JSON) EXECUTE claiming ({given})".encode()).fetchone()

    assert found is not None
    nodes = list(every_node(found[0][0]["Plan"]))
    used = {node["Index Name"] for node in nodes if "Index Name" in node}
    assert used <= {"task_claim", *BY_ID}
    assert not [node for node in nodes if "Seq Scan" in node["Node Type"]]
    # Whoever wants one task by its number may look it up, and "sorts" that one row.
    assert task is not None or ("task_claim" in used and not [node for node in nodes if "Sort" in node["Node Type"]])


def test_a_claim_looks_at_one_row_among_thousands(full: psycopg.Connection, database: Database) -> None:
    before = touched(full)

    held = claim(database)

    assert held is not None
    assert held.priority == 2
    assert touched(full) - before < 20


def touched(admin: psycopg.Connection) -> int:
    """Count the rows of `task` that were ever read, by any way."""
    admin.execute("SELECT pg_stat_force_next_flush()")
    found = admin.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'task'"
    ).fetchone()
    assert found is not None
    return int(found[0])


def every_node(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from every_node(below)


# ---------------------------------------------------------------- round trips and commits


def test_a_claim_and_a_plain_settlement_are_one_round_trip_and_one_commit_each(
    database: Database, superuser_url: str, tmp_path: Path
) -> None:
    worker = a_worker(database)
    warm, task = (a_task(database) for _ in range(2))
    with database.session() as db:
        settle(db, believing(database, claim_on(db, worker.id, warm)))

        with traced(db, tmp_path / "claim") as claiming:
            held = claim_on(db, worker.id, task)
        begun = written(superuser_url, task)
        given = believing(database, held)
        with traced(db, tmp_path / "settle") as settling:
            settle(db, given)

    assert (trips(claiming), trips(settling)) == (1, 1)
    assert begun == [1]
    assert written(superuser_url, task, "attempt WHERE task_id", "commit_ledger WHERE task_id") == [1]


def claim(database: Database) -> Task | None:
    worker = a_worker(database)
    with database.connection() as db:
        return claims.claim(db, worker=worker.id, actor="w", kinds=list(AttemptKind), executors=["local"], lease=LEASE)


def claim_on(db: Connection, worker: int, task: Task) -> Task:
    held = claims.claim(
        db, worker=worker, actor="w", kinds=list(AttemptKind), executors=["local"], lease=LEASE, task=task.id
    )
    assert held is not None
    return held


Given = tuple[Report, settlements.Rows]


def believing(database: Database, task: Task) -> Given:
    attempt = an_attempt(database, task)
    report = Report(task=task.id, epoch=attempt.epoch, attempt=attempt.id, exit_code=0, outcome=Outcome.unchanged)
    with database.connection() as db:
        return report, settlements.read(db, report)


def settle(db: Connection, given: Given) -> None:
    report, believed = given
    settlements.settle(db, report, actor="w", believed=believed)


@contextmanager
def traced(db: Connection, file: Path) -> Iterator[Path]:
    """Let libpq write down every message of a block."""
    with file.open("wb") as out:
        db.pgconn.trace(out.fileno())
        yield file
        db.pgconn.untrace()


def trips(trace: Path) -> int:
    """Count what was sent and waited for: each ends with a Sync, or is a Query."""
    sent = [line.split("\t") for line in trace.read_text().splitlines() if "\tF\t" in line]
    return len([line for line in sent if {"Sync", "Query"} & {word.strip() for word in line}])


def written(superuser_url: str, task: Task, *more: str) -> list[int]:
    """Count the transactions that last wrote a task's row and its line, and what else is named."""
    places = ["task WHERE id", "task_event WHERE seq = (SELECT max(seq) FROM task_event) AND task_id", *more]
    query = " UNION ".join(f"SELECT xmin::text FROM {place} = {task.id}" for place in places)
    return [row[0] for row in asked(superuser_url, f"SELECT count(*) FROM ({query}) AS writers")]
