"""What the database refuses by name, also to the owner of its tables and to hand-written SQL."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

from statemachine.gates import GateKind
from statemachine.settlement import Outcome
from statemachine.tasks import BEARS_FINDING, BEARS_PAUSE, RULES, TaskState
from store.engine import Database
from tests.factories import a_running_task, a_settled, a_task, a_task_at_gate, an_attempt

_LINE = "INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)"


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as db:
        yield db


def refused(db: Connection, *statements: str, **values: object) -> str:
    """Run statements in one transaction and give the name of the constraint that refused them."""
    try:
        with db.transaction():
            for statement in statements:
                db.execute(statement, values)
            db.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except psycopg.Error as refusal:
        return refusal.diag.constraint_name or str(refusal)
    return "nothing refused it"


QUEUED = {
    "a bare state update": ("task_seq", "UPDATE task SET state = 'approved' WHERE id = %(task)s"),
    "a state update with a new seq and no line": (
        "task_is_its_last_line",
        "UPDATE task SET state = 'cancelled', seq = seq + 1 WHERE id = %(task)s",
    ),
    "a rewound seq": ("task_seq", "UPDATE task SET seq = 0 WHERE id = %(task)s"),
    "a gap in seq": ("task_seq", "UPDATE task SET seq = seq + 2 WHERE id = %(task)s"),
    "a finding counter set by hand": ("task_owed_by_trigger", "UPDATE task SET owed_findings = 1 WHERE id = %(task)s"),
    "a pause counter set by hand": ("task_owed_by_trigger", "UPDATE task SET owed_pauses = 1 WHERE id = %(task)s"),
    "an epoch raised by hand": ("task_epoch", "UPDATE task SET lease_epoch = 1 WHERE id = %(task)s"),
    "a lease without running": (
        "task_lease",
        "UPDATE task SET lease_expires = now() WHERE id = %(task)s",
    ),
    "a stop of what does not run": (
        "task_stop_is_of_a_run",
        "UPDATE task SET stop_reason = 'user' WHERE id = %(task)s",
    ),
    "another repository": ("task_seq", "UPDATE task SET repository_id = repository_id + 1 WHERE id = %(task)s"),
    "a removed task": ("append_only", "DELETE FROM task WHERE id = %(task)s"),
    "an edited line": ("append_only", "UPDATE task_event SET actor = 'x' WHERE task_id = %(task)s"),
    "a removed line": ("append_only", "DELETE FROM task_event WHERE task_id = %(task)s"),
    "a truncated history": ("append_only", "TRUNCATE task_event CASCADE"),
    "a new edge": ("append_only", "INSERT INTO task_edge VALUES ('add', 'merged', 'queued', '{author}')"),
    "a removed edge": ("append_only", "DELETE FROM noun_edge"),
    "a line without a move": (
        "task_event_moves",
        f"{_LINE} VALUES (%(task)s, 2, 'cancel', 'queued', 'cancelled', 0, 'x')",
    ),
    "a second beginning": ("task_event_begin", f"{_LINE} VALUES (%(task)s, 2, 'add', '', 'queued', 0, 'x')"),
    "a gate without its state": (
        "gate_is_its_tasks",
        "INSERT INTO gate (task_id, kind, head) VALUES (%(task)s, 'review', 'h')",
    ),
    "a gate that was decided before it opened": (
        "noun_edge",
        (
            "INSERT INTO gate (task_id, kind, head, state, decided_by, decided_at)"
            " VALUES (%(task)s, 'review', 'h', 'approved', 'x', now())"
        ),
    ),
    "a finding inserted decided": (
        "noun_edge",
        (
            "INSERT INTO finding (task_id, kind, summary, fingerprint, recorded_by, state, decided_at, "
            "decided_by, reason)"
            " VALUES (%(task)s, 'manual', 's', repeat('a', 64), 'x', 'dismissed', now(), 'x', 'r')"
        ),
    ),
    "a finding on a queued task": (
        "task_finding_owed",
        (
            "INSERT INTO finding (task_id, kind, summary, fingerprint, recorded_by)"
            " VALUES (%(task)s, 'manual', 's', repeat('a', 64), 'x')"
        ),
    ),
    "a workspace that is ready without base, path and baseline": (
        "noun_edge",
        (
            "INSERT INTO allocation (task_id, epoch, host, executor, state, materialised_by)"
            " VALUES (%(task)s, 1, 'h', 'local', 'ready', gen_random_uuid())"
        ),
    ),
    "an attempt of a task that does not run": (
        "attempt_active_needs_lease",
        (
            "INSERT INTO worker (name, host, boot_id, pid, started, kinds, executors, slots)"
            " VALUES ('w', 'h', 'b', 1, '1', '{}', '{}', 1)"
        ),
        (
            "INSERT INTO attempt (task_id, number, epoch, kind, revision, context, policy_version, base, executor,"
            " worker_id) VALUES (%(task)s, 1, 0, 'check', 1, 1, 1, 'b', 'local', (SELECT max(id) FROM worker))"
        ),
    ),
}


@pytest.mark.case("A14")
@pytest.mark.parametrize("what", QUEUED)
def test_raw_sql_against_a_queued_task_is_refused_by_name(database: Database, owner: Connection, what: str) -> None:
    task = a_task(database)
    name, *statements = QUEUED[what]

    constraint = refused(owner, *statements, task=task.id)

    assert constraint == name


@pytest.mark.case("A14")
def test_an_illegal_edge_is_refused_by_the_table_of_edges(database: Database, owner: Connection) -> None:
    task = a_task(database)

    constraint = refused(
        owner,
        "UPDATE task SET state = 'approved', seq = 2 WHERE id = %(task)s",
        f"{_LINE} VALUES (%(task)s, 2, 'approve', 'queued', 'approved', 0, 'x')",
        task=task.id,
    )

    assert constraint == "task_event_edge"


@pytest.mark.case("A14")
def test_a_line_that_does_not_start_where_the_last_one_ended_is_refused(database: Database, owner: Connection) -> None:
    task = a_task(database)

    constraint = refused(
        owner,
        "UPDATE task SET state = 'cancelled', seq = 2 WHERE id = %(task)s",
        f"{_LINE} VALUES (%(task)s, 2, 'cancel', 'in_review', 'cancelled', 0, 'x')",
        task=task.id,
    )

    assert constraint == "task_event_chain"


@pytest.mark.case("A14")
@pytest.mark.parametrize("event", ["settle", "take_over"])
def test_only_claim_and_take_over_raise_the_epoch(database: Database, owner: Connection, event: str) -> None:
    task = a_running_task(database)
    raised = event == "settle"

    constraint = refused(
        owner,
        "UPDATE task SET seq = seq + 1, lease_epoch = lease_epoch + %(raised)s WHERE id = %(task)s",
        f"{_LINE} VALUES (%(task)s, 3, %(event)s, 'running', 'running', 1 + %(raised)s, 'x')",
        task=task.id,
        event=event,
        raised=int(raised),
    )

    assert constraint == "task_event_chain"


@pytest.mark.case("A13")
@pytest.mark.parametrize("state", sorted({rule.dest for rule in RULES} - BEARS_FINDING - {TaskState.running}))
def test_no_edge_takes_an_owed_finding_where_it_may_not_be(database: Database, owner: Connection, state: str) -> None:
    task = a_task_at_gate(database, GateKind.finding)

    constraint = refused(
        owner,
        "UPDATE gate SET state = 'approved', decided_by = 'x', decided_at = now() WHERE task_id = %(task)s",
        "UPDATE task SET state = %(state)s, seq = seq + 1, gate_id = CASE WHEN %(waits)s THEN gate_id END"
        " WHERE id = %(task)s",
        task=task.id,
        state=state,
        waits=state in {"needs_amendment", "needs_approval", "possibly_fixed", "in_review"},
    )

    assert constraint == "task_finding_owed"


@pytest.mark.case("A13")
@pytest.mark.parametrize("state", sorted({rule.dest for rule in RULES} - BEARS_PAUSE - {TaskState.running}))
def test_no_edge_takes_an_open_pause_where_it_may_not_be(database: Database, owner: Connection, state: str) -> None:
    task = a_task_at_gate(database, GateKind.scope)

    constraint = refused(
        owner,
        "UPDATE task SET state = %(state)s, seq = seq + 1, gate_id = CASE WHEN %(waits)s THEN gate_id END"
        " WHERE id = %(task)s",
        task=task.id,
        state=state,
        waits=state in {"needs_approval", "possibly_fixed", "in_review"},
    )

    assert constraint == "task_pause_owed"


AT_A_FINDING_GATE = {
    "a finding moved to another task": ("noun_identity", "UPDATE finding SET task_id = task_id + 1"),
    "a finding retold": ("noun_identity", "UPDATE finding SET summary = 'nothing to see'"),
    "a removed finding": ("append_only", "DELETE FROM finding"),
    "findings truncated": ("append_only", "TRUNCATE finding"),
    "a finding decided without a reason": (
        "finding_decided",
        "UPDATE finding SET state = 'dismissed', decided_at = now(), decided_by = 'x'",
    ),
    "a gate closed under its task": (
        "task_gate_is_open",
        "UPDATE gate SET state = 'approved', decided_at = now(), decided_by = 'x'",
    ),
    "a second open gate": (
        "gate_one_open",
        "INSERT INTO gate (task_id, kind, head) SELECT id, 'review', 'h' FROM task",
    ),
    "an attempt that ends again": ("noun_edge", "UPDATE attempt SET exit_code = 1"),
    "an attempt that lives again": ("noun_edge", "UPDATE attempt SET state = 'running', ended_at = NULL"),
    "an ended attempt of another item": ("noun_edge", "UPDATE attempt SET item_id = NULL"),
    "a removed attempt": ("append_only", "DELETE FROM attempt"),
    "a reopened workspace": ("noun_edge", "UPDATE allocation SET state = 'ready'"),
    "a waiting task without its gate": ("task_gate", "UPDATE task SET gate_id = NULL"),
}


@pytest.mark.case("A14")
@pytest.mark.parametrize("what", AT_A_FINDING_GATE)
def test_raw_sql_against_a_task_that_owes_is_refused_by_name(database: Database, owner: Connection, what: str) -> None:
    a_task_at_gate(database, GateKind.finding)
    name, statement = AT_A_FINDING_GATE[what]

    constraint = refused(owner, statement)

    assert constraint == name


@pytest.mark.case("F13")
def test_a_decision_about_a_finding_is_never_edited(database: Database, owner: Connection) -> None:
    a_task_at_gate(database, GateKind.finding)
    owner.execute("UPDATE finding SET state = 'dismissed', decided_at = now(), decided_by = 'x', reason = 'harmless'")

    edits = [
        refused(owner, "UPDATE finding SET reason = 'other'"),
        refused(owner, "UPDATE finding SET state = 'accepted'"),
        refused(owner, "UPDATE finding SET state = 'open', decided_at = NULL, decided_by = NULL, reason = NULL"),
    ]

    assert edits == ["noun_edge"] * 3


@pytest.mark.case("A06")
def test_a_second_active_attempt_is_refused_by_its_index(database: Database, owner: Connection) -> None:
    task = a_running_task(database)
    an_attempt(database, task)

    constraint = refused(
        owner,
        "INSERT INTO attempt (task_id, number, epoch, kind, revision, context, policy_version, base, executor,"
        " worker_id) SELECT task_id, 2, epoch, 'check', 1, 1, 1, base, 'local', worker_id FROM attempt",
    )

    assert constraint == "attempt_one_active"


@pytest.mark.case("A14")
def test_a_task_never_leaves_running_under_an_active_attempt(database: Database, owner: Connection) -> None:
    task = a_running_task(database)
    an_attempt(database, task)

    constraint = refused(
        owner,
        "UPDATE task SET state = 'queued', seq = seq + 1, lease_worker = NULL, lease_expires = NULL,"
        " running_since = NULL WHERE id = %(task)s",
        f"{_LINE} VALUES (%(task)s, 3, 'release', 'running', 'queued', 1, 'x')",
        task=task.id,
    )

    assert constraint == "attempt_active_needs_lease"


@pytest.mark.case("W04")
@pytest.mark.parametrize("lacking", ["path", "base", "baseline"])
def test_a_ready_local_workspace_has_path_base_and_baseline(
    database: Database, owner: Connection, lacking: str
) -> None:
    task = a_running_task(database)
    an_attempt(database, task, launched=False)
    owner.execute(
        "INSERT INTO allocation (task_id, epoch, host, executor, path, base, baseline, materialised_by)"
        " SELECT task_id, epoch, 'h', 'local', '/p', 'b', '{}', id FROM attempt"
    )

    constraint = refused(owner, f"UPDATE allocation SET state = 'ready', {lacking} = NULL")

    assert constraint == "allocation_ready"


@pytest.mark.case("X07")
@pytest.mark.parametrize("commit", ["its own base", "abc", "A" * 40])
def test_a_commit_that_equals_its_base_or_is_malformed_never_enters_the_ledger(
    database: Database, owner: Connection, commit: str
) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)

    constraint = refused(
        owner,
        "INSERT INTO commit_ledger (task_id, item_id, revision, attempt_id, outcome, parent, commit)"
        " VALUES (%(task)s, 'P1', 1, %(attempt)s, 'commit', %(base)s, %(commit)s)",
        task=task.id,
        attempt=attempt.id,
        base=attempt.base,
        commit=attempt.base if commit == "its own base" else commit,
    )

    assert constraint == "commit_ledger_commit"


def test_every_row_of_the_ledger_is_live_once_for_its_item(database: Database, owner: Connection) -> None:
    task = a_running_task(database)
    a_settled(database, task, outcome=Outcome.committed)

    constraint = refused(
        owner,
        "INSERT INTO commit_ledger (task_id, item_id, revision, attempt_id, outcome, parent)"
        " SELECT task_id, item_id, revision, attempt_id, 'unchanged', parent FROM commit_ledger",
    )

    assert constraint == "commit_ledger_one_live"
