"""Where it is measured: one database with our schema, and in a schema beside it the same tables bare."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from statemachine.attempts import AttemptKind
from statemachine.refusals import Unavailable
from store import embedded, programs, repositories, roles, upgrades, workers
from store.addresses import parse
from store.connections import connect

PATIENCE: Final = timedelta(minutes=1)
BARE: Final = "bare"
SCRIPTS: Final = Path(__file__).parent
# Nothing that comes and goes by itself may fall into the round of one contestant alone.
_QUIET: Final = {"autovacuum": "off", "max_wal_size": "8GB", "checkpoint_timeout": "1h", "shared_buffers": "512MB"}
_OTHERS: Final = (
    "SELECT FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database of our own on some server, and the pgbench to use on it."""

    superuser: str
    database: str
    pgbench: Path
    worker: int = 1
    """The first of a new database."""

    def url(self, *, user: str = roles.APP, **settings: str) -> str:
        """Name the database for one user, with settings for its session."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return make_conninfo(self.superuser, dbname=self.database, user=user, options=options)

    @property
    def owner(self) -> str:
        """Name it for whom the tables belong to."""
        return make_conninfo(self.superuser, dbname=self.database, options=f"-c role={roles.OWNER}")

    def queue(self, schema: str, cycles: int) -> None:
        """Queue tasks, and leave the tables as a tended database has them."""
        with psycopg.connect(self.owner, autocommit=True) as owner:
            owner.execute(f"SET search_path = {schema}")
            owner.execute((SCRIPTS / "queue.sql").read_bytes(), (cycles,))
            owner.execute("VACUUM ANALYZE")

    def written(self, schema: str) -> dict[str, int]:
        """Count the rows ever inserted or updated, by table, once everybody else has left and told."""
        with psycopg.connect(self.owner, autocommit=True) as owner:
            while owner.execute(_OTHERS).rowcount:
                pass
            rows = owner.execute(
                "SELECT relname, n_tup_ins + n_tup_upd FROM pg_stat_user_tables WHERE schemaname = %s", (schema,)
            )
            return dict(rows.fetchall())


@contextmanager
def opened(given: str | None) -> Iterator[Place]:
    """Make the database, on the server given or on an embedded one, and remove it."""
    with _server(given) as superuser:
        name = f"bench_{uuid4().hex[:8]}"
        place = Place(superuser=superuser, database=name, pgbench=_pgbench())
        with psycopg.connect(superuser, autocommit=True) as admin:
            roles.provision(admin, name)
            try:
                _furnish(place)
                yield place
            finally:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def _server(given: str | None) -> Iterator[str]:
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="weighlock-bench-"))
    folder.chmod(0o711)  # a server started by root runs as another user
    try:
        server = embedded.attach(folder, patience=PATIENCE, settings=_QUIET)
        try:
            yield server.superuser_url
        finally:
            server.leave()
            shutil.rmtree(server.data.parent, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _furnish(place: Place) -> None:
    upgrades.upgrade(place.owner)
    with connect(parse(place.url())) as db:
        repositories.add(
            db,
            runner=uuid4(),
            name="bench",
            source="/nowhere",
            target="/nowhere",
            object_format="sha1",
            raw_attributes=False,
            actor="bench",
        )
        workers.register(
            db,
            name="bench",
            host="bench",
            boot_id="bench",
            pid=1,
            started="1",
            kinds=[kind.value for kind in AttemptKind],
            executors=["local"],
            slots=1,
        )
    with psycopg.connect(place.owner, autocommit=True) as owner:
        owner.execute((SCRIPTS / "bare.sql").read_bytes())


def _pgbench() -> Path:
    """Find the one of the embedded server's package, else the one people have installed."""
    for found in (_of_the_package(), shutil.which("pgbench")):
        if found and os.access(found, os.X_OK):
            return Path(found)
    raise SystemExit("there is no pgbench, neither in the package of the embedded server nor in PATH")


def _of_the_package() -> Path | None:
    try:
        return programs.folder_of_programs(None) / "pgbench"
    except Unavailable:
        return None
