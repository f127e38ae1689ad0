"""A PostgreSQL server of one's own: started by the first process that needs it, stopped by the last that leaves.

Every process that uses the server shares a file lock; the kernel frees it however the process dies, so a
killed one neither keeps the server running for ever nor stops it under the others. Starting, making and
migrating happen under a second lock, one process at a time, and each step may find itself done already.
"""

import atexit
import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import psycopg

from statemachine.refusals import Refusal
from store.addresses import parse
from store.connections import connect
from store.homes import home_of
from store.locks import FileLock, alone
from store.roles import APP, DATABASE, OWNER, PORT, SUPERUSER, provision
from store.versions import installed_version, known_versions

START: Final = timedelta(seconds=60)

_SOCKET_LIMIT: Final = 100  # of about 104 to 108 bytes, by system


class Server:
    """Use the embedded server of `home` until `leave()`; `url` is the product's, `admin_url` the schema owner's."""

    def __init__(self, home: Path, users: FileLock) -> None:
        self.data = home / "data"
        self._users = users
        self._left = False
        self.socket = _socket(self.data)
        self.superuser_url = self._url(SUPERUSER, SUPERUSER)
        self.admin_url = self._url(SUPERUSER, DATABASE, options=f"-c role={OWNER}")
        self.url = self._url(APP, DATABASE)
        atexit.register(self.leave)

    def leave(self) -> None:
        """Let go of the server and stop it if nobody else uses it; a second call does nothing."""
        if self._left:
            return
        self._left = True
        atexit.unregister(self.leave)
        try:
            if self._users.last():
                self._stop()
        finally:
            self._users.close()

    def revive(self) -> bool:
        """Start the server again if it died under its users; False once this one has left."""
        if self._left:
            return False
        self.start(START, {})
        return True

    def start(self, wait: timedelta, settings: Mapping[str, str]) -> None:
        """Make, start and migrate it, whichever is needed by the time nobody else is at it."""
        from store.clusters import Cluster  # noqa: PLC0415 - only who starts or stops a server pays for it

        with alone(self.data.with_name("start.lock"), wait):
            Cluster(self.data, settings).serve(self.socket, wait)
            if not _ready(self.url):
                self._migrate()

    def _migrate(self) -> None:
        from store import upgrades  # noqa: PLC0415 - Alembic costs more than a start

        with psycopg.connect(self.superuser_url, autocommit=True) as admin:
            provision(admin)
        upgrades.upgrade(self.admin_url)

    def _stop(self) -> None:
        from store.clusters import Cluster  # noqa: PLC0415 - as above

        Cluster(self.data).stop()
        if self.socket != self.data:
            with suppress(OSError):
                self.socket.unlink()

    def _url(self, user: str, database: str, **settings: str) -> str:
        # Every part is named, or PGHOSTADDR, PGOPTIONS and the like of the environment would fill it in.
        known = {"host": str(self.socket), "port": PORT, "hostaddr": "", "options": "", **settings}
        return f"postgresql://{user}@/{database}?{urlencode(known, quote_via=quote)}"


def attach(state: Path, *, patience: timedelta = START, settings: Mapping[str, str] | None = None) -> Server:
    """Use the embedded server under `state`, making, starting and migrating it where needed.

    `settings` are given to a cluster that is made now. Starting is waited for at least `START`.
    """
    wait = max(patience, START)
    home = home_of(state)
    users = FileLock(home / "users.lock").share(wait)
    try:
        server = Server(home, users)
    except BaseException:
        users.close()
        raise
    try:
        if not _ready(server.url):
            server.start(wait, settings or {})
    except BaseException:
        server.leave()
        raise
    return server


def _ready(url: str) -> bool:
    # The common case: one connection, no wheel, no Alembic.
    try:
        with connect(parse(url)) as db:
            return installed_version(db) == known_versions()[-1]
    except Refusal:
        return False


def _socket(data: Path) -> Path:
    if len(os.fsencode(data)) + len("/.s.PGSQL.") + len(PORT) <= _SOCKET_LIMIT:
        return data
    # Too deep for a socket's name: a short link of our own leads there.
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    link = Path(tempfile.gettempdir()) / f"weighlock-{os.geteuid()}-{digest}"
    with suppress(FileExistsError):
        link.symlink_to(data)
    if link.is_symlink() and link.lstat().st_uid == os.geteuid() and link.readlink() == data:
        return link
    raise Refusal(
        "socket_path_taken",
        f"{link} is not the link to {data} it should be",
        hint="remove it, or choose a state folder with a shorter path",
    )
