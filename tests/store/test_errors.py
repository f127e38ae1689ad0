"""Every refusal of the database has one meaning, and every meaning a refusal."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread

import psycopg
import pytest

from statemachine.refusals import LostRace, Refusal, Unavailable
from store.constraints import MEANINGS
from store.engine import Connection, Database, open_database
from store.meanings import STATES, Meaning

ADD_WORKER = (
    "INSERT INTO worker (name, host, boot_id, pid, started, kinds, executors, slots)"
    " VALUES (%s, 'h', 'b', %s, 's', '{}', '{}', %s) RETURNING id"
)

ENFORCED = """
SELECT conname AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'p', 'u', 'x') AND relname <> 'alembic_version'
UNION
SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = 'public'::regnamespace AND indisunique AND relname <> 'alembic_version_pkc'
"""
RAISED = "SELECT prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace"


@pytest.fixture
def owner(owner_url: str, tmp_path: Path) -> Iterator[Database]:
    """Act as the owner of the tables, with little patience for locks."""
    opened = open_database(f"{owner_url[:-1]} -c lock_timeout=50'", state=tmp_path, name="owner", patience=timedelta(0))
    yield opened
    opened.close()


def refused(database: Database, query: str, *values: object) -> Refusal:
    with pytest.raises(Refusal) as seen, database.connection() as db:
        db.execute(query, values)
    return seen.value


def test_each_name_the_database_can_refuse_with_has_a_meaning_and_no_meaning_is_left_over(database: Database) -> None:
    with database.connection() as db:
        enforced = {str(row["name"]) for row in db.execute(ENFORCED)}
        sources = [str(row["prosrc"]) for row in db.execute(RAISED)]
    raised = {name for source in sources for name in re.findall(r"CONSTRAINT\s*=\s*'(\w+)'", source)}

    assert enforced | raised == set(MEANINGS)
    assert len(enforced) > 80
    assert "append_only" in raised


@pytest.mark.parametrize(("name", "meaning"), [*MEANINGS.items(), *STATES.items()])
def test_a_meaning_is_a_code_and_a_sentence_of_plain_words(name: str, meaning: Meaning) -> None:
    refusal = meaning.refusal(constraint=name)

    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", refusal.code)
    assert re.fullmatch(r"[a-z][^\n]*[^.\s]", refusal.message)
    assert not refusal.hint.endswith(".")
    assert (refusal.facts, type(refusal)) == ({"constraint": name}, meaning.kind)


def test_a_check_a_key_and_a_trigger_speak_by_their_names(owner: Database) -> None:
    with owner.connection() as db:
        db.execute(ADD_WORKER, ("w", 1, 1))

    check = refused(owner, ADD_WORKER, "w", 1, 0)
    key = refused(owner, "INSERT INTO check_result (task_id, attempt_id, head, command, passed) "
                         "VALUES (1, gen_random_uuid(), '', '', true)")  # fmt: skip
    trigger = refused(owner, "UPDATE worker SET state = 'active' || state")

    assert [told.facts["constraint"] for told in (check, trigger)] == ["worker_slots", "noun_edge"]
    assert (check.code, key.code, trigger.code) == ("bad_slots", "unknown_reference", "no_such_edge")


@pytest.mark.case("A14")
@pytest.mark.parametrize(
    "statement", ["DELETE FROM task_edge", "TRUNCATE task CASCADE", "UPDATE noun_edge SET dest = ''"]
)
def test_the_owner_of_the_tables_cannot_rewrite_history_or_vocabulary(owner: Database, statement: str) -> None:
    told = refused(owner, statement)

    assert told.code == "append_only"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM task",
        "TRUNCATE task_event",
        "INSERT INTO task_edge VALUES ('fly', '', 'gone', '{}')",
        "UPDATE alembic_version SET version_num = ''",
        "ALTER TABLE task DISABLE TRIGGER ALL",
        "DROP FUNCTION refuse_change CASCADE",
        "SET session_replication_role = replica",
        "CREATE TABLE mine (id int)",
        "COPY task TO PROGRAM 'true'",
        "SET ROLE weighlock_owner",
    ],
)
def test_the_product_itself_may_not_switch_off_what_stops_it(database: Database, statement: str) -> None:
    told = refused(database, statement)

    assert told.code == "not_permitted"


def test_a_row_held_by_another_is_a_lost_race(owner: Database) -> None:
    with owner.transaction() as db:
        db.execute(ADD_WORKER, ("w", 1, 1))
    with owner.transaction() as db:
        db.execute("SELECT FROM worker FOR UPDATE")

        told = refused(owner, "SELECT FROM worker FOR UPDATE")

    assert (type(told), told.code) == (LostRace, "lock_timeout")


def test_one_of_two_that_wait_for_each_other_gives_way(database: Database) -> None:
    with database.connection() as db:
        ids = [next(iter(row.values())) for pid in (1, 2) for row in db.execute(ADD_WORKER, ("w", pid, 1))]
    both, told = Barrier(2), []

    def hold(first: object, second: object) -> None:
        try:
            with database.transaction() as db:
                db.execute("SELECT FROM worker WHERE id = %s FOR UPDATE", (first,))
                both.wait()
                db.execute("SELECT FROM worker WHERE id = %s FOR UPDATE", (second,))
        except LostRace as lost:
            told.append(lost.code)

    threads = [Thread(target=hold, args=order) for order in (ids, ids[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told == ["deadlock"]


def test_a_transaction_that_saw_an_old_row_is_a_lost_race(database: Database) -> None:
    with database.connection() as db:
        db.execute(ADD_WORKER, ("w", 1, 1))

    def look_then_change_too_late() -> None:
        with database.session() as late, late.transaction():
            late.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            late.execute("SELECT FROM worker")
            with database.connection() as db:
                db.execute("UPDATE worker SET name = 'x'")
            late.execute("UPDATE worker SET name = 'y'")

    with pytest.raises(LostRace) as seen:
        look_then_change_too_late()

    assert seen.value.code == "conflict"


def test_a_statement_that_takes_too_long_is_ended_by_name(database: Database) -> None:
    with pytest.raises(LostRace) as seen, database.transaction() as db:
        db.execute("SET LOCAL statement_timeout = 20; SELECT pg_sleep(60)", prepare=False)

    assert seen.value.code == "statement_timeout"


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_no_column_can_hold_is_refused_before_it_is_sent(database: Database, text: str) -> None:
    told = refused(database, ADD_WORKER, text, 1, 1)

    assert told.code == "bad_text"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT 99999999999999::bigint::int", "bad_value"),
        ("SELECT 'no'::uuid", "bad_value"),
        ("INSERT INTO worker (name) VALUES ('w')", "incomplete_row"),
        ("SELECT nothing FROM worker", "schema_mismatch"),
        ("SELECT FROM nothing", "schema_mismatch"),
    ],
)
def test_what_has_no_constraint_has_a_code_all_the_same(database: Database, query: str, code: str) -> None:
    told = refused(database, query)

    assert told.code == code


def test_a_database_that_takes_no_changes_says_so(database: Database) -> None:
    with pytest.raises(Unavailable) as seen, database.session() as db:
        db.execute("BEGIN READ ONLY; DELETE FROM output", prepare=False)

    assert seen.value.code == "database_read_only"


def test_a_constraint_somebody_added_is_named(owner: Database) -> None:
    with owner.connection() as db:
        db.execute("ALTER TABLE worker ADD CONSTRAINT our_own CHECK (name <> 'w')")

    told = refused(owner, ADD_WORKER, "w", 1, 1)

    assert (told.code, told.facts["constraint"]) == ("constraint_violated", "our_own")


def test_a_fault_of_the_program_stays_what_it_is(database: Database) -> None:
    with pytest.raises(psycopg.errors.SyntaxError), database.connection() as db:
        db.execute("SELECT FROM WHERE")


def test_the_error_of_the_database_stays_behind_the_refusal(database: Database) -> None:
    told = refused(database, "SELECT 'no'::uuid")

    assert isinstance(told.__cause__, psycopg.errors.InvalidTextRepresentation)


def test_what_is_no_statement_is_translated_too(database: Database) -> None:
    with pytest.raises(Refusal) as seen, database.connection() as db:
        copy_into(db)

    assert seen.value.code == "incomplete_row"


def copy_into(db: Connection) -> None:
    with db.cursor() as cursor, cursor.copy("COPY worker (name) FROM STDIN") as copy:
        copy.write_row(("w",))
