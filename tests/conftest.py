"""One server for the whole run, one migrated template on it, one clone of that for each test.

The server is the embedded one, or whatever TASKS_TEST_DATABASE_URL names (as a superuser). The processes of
a parallel run share it as any processes of ours would: the first starts it, the last stops it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from store import embedded, roles, upgrades
from store.engine import Database, open_database, open_transactions
from store.locks import FileLock, alone

PATIENCE = timedelta(seconds=5)
# Nothing of a test survives a power cut, and nothing needs to.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "200",
    "autovacuum": "off",
}


# A run that is killed cleans nothing up: this waits, apart, until none of its processes is left.
CLEANER = """
import fcntl, os, shutil, sys
from pathlib import Path
if os.fork():
    os._exit(0)
os.setsid()
for fd in (0, 1, 2):
    os.dup2(os.open(os.devnull, os.O_RDWR), fd)
folder = Path(sys.argv[1])
with open(folder / "run.lock") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if (folder / "run.lock").exists() and os.path.samestat(os.fstat(lock.fileno()), os.stat(folder / "run.lock")):
        from store import embedded
        if (folder / "state/postgres/data").exists():
            embedded.attach(folder / "state").leave()
        shutil.rmtree(folder, ignore_errors=True)
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Name one database of the test server for each of its users."""

    superuser: str
    template: str

    def url(self, database: str, user: str | None = None, **settings: str) -> str:
        return make_conninfo(self.superuser, dbname=database, **({"user": user} if user else {}), **settings)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Run the server, with a migrated template on it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")[:12]
    folder = Path(tempfile.gettempdir()) / f"weighlock-run-{run}"
    users = _share(folder)
    given = os.environ.get("TASKS_TEST_DATABASE_URL")
    server = None if given else embedded.attach(folder / "state", settings=FAST, patience=PATIENCE)
    running = Cluster(superuser=server.superuser_url if server else str(given), template=f"template_{run}")
    try:
        with alone(folder / "template.lock", timedelta(minutes=1)):
            _prepare(running, folder / "template.made", migrated=server is not None)
        yield running
    finally:
        last = users.last()
        if last and given:
            _drop(running, running.template)
        if server is not None:
            server.leave()
        if last:
            shutil.rmtree(folder, ignore_errors=True)
        users.close()


@pytest.fixture
def database_name(cluster: Cluster) -> Iterator[str]:
    """Clone the template for one test."""
    with _clone(cluster, cluster.template) as name:
        yield name


@pytest.fixture
def empty_database(cluster: Cluster) -> Iterator[str]:
    """Make a database without a schema; the URL is that of its owner."""
    with _clone(cluster, "template0") as name:
        yield cluster.url(name, options=f"-c role={roles.OWNER}")


@pytest.fixture
def database_url(cluster: Cluster, database_name: str) -> str:
    """Name the test's database as the product connects to it: neither superuser nor owner."""
    return cluster.url(database_name, roles.APP)


@pytest.fixture
def owner_url(cluster: Cluster, database_name: str) -> str:
    """Name it as the owner of the tables, whom only triggers and constraints stop."""
    return cluster.url(database_name, options=f"-c role={roles.OWNER}")


@pytest.fixture
def superuser_url(cluster: Cluster, database_name: str) -> str:
    """Name it as the administrator, for what a test does to the server."""
    return cluster.url(database_name)


@pytest.fixture
def database(database_url: str, tmp_path: Path) -> Iterator[Database]:
    """Open the test's database as the product does."""
    opened = open_database(database_url, state=tmp_path, name="test", patience=PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def state_folder() -> Iterator[Path]:
    """Make a state folder of a short name that a server of another user may pass."""
    folder = Path(tempfile.mkdtemp(prefix="weighlock-state-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _clone(cluster: Cluster, template: str) -> Iterator[str]:
    name = f"test_{uuid4().hex[:16]}"
    names = [sql.Identifier(word) for word in (name, roles.OWNER, template)]
    with psycopg.connect(cluster.superuser, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY wal_log").format(*names))
    yield name
    _drop(cluster, name)


def _drop(cluster: Cluster, name: str) -> None:
    with psycopg.connect(cluster.superuser, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _share(folder: Path) -> FileLock:
    try:
        folder.mkdir(mode=0o711)  # the user a server runs as may pass
    except FileExistsError:
        return FileLock(folder / "run.lock").share(PATIENCE)
    users = FileLock(folder / "run.lock").share(PATIENCE)
    subprocess.run([sys.executable, "-c", CLEANER, folder], check=True, stdin=subprocess.DEVNULL)
    return users


def _prepare(running: Cluster, made: Path, *, migrated: bool) -> None:
    if made.exists():
        return
    with psycopg.connect(running.superuser, autocommit=True) as admin:
        if migrated:  # an embedded server comes with its tables
            names = sql.Identifier(running.template), sql.Identifier(roles.DATABASE)
            admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
        else:
            roles.provision(admin, running.template)
            upgrades.upgrade(running.url(running.template, options=f"-c role={roles.OWNER}"))
    made.touch()


# ---------------------------------------------------------------- no transaction is open while a process starts
ROOT = Path(__file__).parents[1]
FLOORS = ("statemachine", "store", "workspace", "screening", "worker", "recovery", "cli")
PRODUCT = tuple(f"{ROOT / floor}{os.sep}" for floor in FLOORS)
STARTING = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"})
_started: list[str] = []


@pytest.fixture(autouse=True)
def no_transaction_is_open_while_a_process_starts() -> Iterator[list[str]]:
    """Fail a test in which the product started a process from a thread with an open transaction."""
    _started.clear()
    yield _started
    assert _started == []


def _look(event: str, _: tuple[object, ...]) -> None:
    if event in STARTING and open_transactions() and _by_the_product(sys._getframe(1)):
        _started.append(f"{event} with {open_transactions()} open")


def _by_the_product(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith(PRODUCT):
        frame = frame.f_back
    return frame is not None


sys.addaudithook(_look)
