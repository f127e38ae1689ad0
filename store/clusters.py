"""One PostgreSQL cluster in one folder: made, started and stopped."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from statemachine.refusals import Unavailable
from store.programs import account_of, run
from store.roles import PORT, SUPERUSER

_PAUSE: Final = 0.1
_MAKING: Final = timedelta(minutes=2)
_STARTING: Final = timedelta(seconds=30)
_STOPPING: Final = timedelta(minutes=1)
FAILING: Final = timedelta(seconds=5)  # the orphans of a killed server let go of its memory within moments
_TOLD: Final = 8  # lines of the server's log in a refusal

_SETTINGS: Final = {
    "listen_addresses": "",
    # The cluster's own folder, wherever it is moved to: it is 0700, so only its owner reaches the socket.
    "unix_socket_directories": ".",
    "unix_socket_permissions": "0700",
    "port": PORT,
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_error_statement": "panic",  # a refused statement may hold an agent's text; the log need not
}
_LOCALE: Final = ("--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--lc-messages=C")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Work on the cluster in `data`; callers see to it that only one process does so at a time."""

    data: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def serve(self, socket: Path, patience: timedelta) -> None:
        """Make the cluster if there is none, start it if it is down, and return once it answers."""
        if not self.data.exists():
            self._make()
        # One that goes down or comes up is waited for; one that fails again and again is not.
        deadline = monotonic() + patience.total_seconds()
        failing = monotonic() + min(patience, FAILING).total_seconds()
        while not _answers(socket):
            occupied = _occupied(self.data)
            if not occupied and self._start() == 0:
                continue
            if monotonic() > (deadline if occupied else failing):
                raise self._refusal("does not start")
            sleep(_PAUSE)

    def stop(self) -> None:
        """Stop the server and wait until it is gone; one that is down already is fine."""
        self._control("stop", "-m", "fast", patience=_STOPPING)

    def _make(self) -> None:
        # Made aside and renamed: a process killed half-way leaves nothing that looks like a cluster.
        making = self.data.with_name(f"{self.data.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700)
        account = account_of(self.data)
        if account is not None:
            os.chown(making, account.uid, account.gid)
        settings = [f"--set={name}={value}" for name, value in {**_SETTINGS, **self.settings}.items()]
        options = ["--auth=trust", f"--username={SUPERUSER}", "--no-instructions", *_LOCALE, *settings]
        made = run("initdb", *options, "-D", str(making), account=account, patience=_MAKING)
        if made.code != 0:
            raise self._refusal("could not be made", made.said)
        making.rename(self.data)

    def _start(self) -> int:
        log = self.data / "server.log"
        with suppress(FileNotFoundError):
            log.replace(self.data / "server.log.1")
        return self._control("start", "-l", str(log), patience=_STARTING)

    def _control(self, *arguments: str, patience: timedelta) -> int:
        common = ("-D", str(self.data), "-s", "-w", "-t", str(patience.seconds))
        return run("pg_ctl", *arguments, *common, account=account_of(self.data), patience=patience).code

    def _refusal(self, what: str, said: str = "") -> Unavailable:
        with suppress(OSError):
            said = said or (self.data / "server.log").read_text(encoding="utf-8", errors="replace")
        return Unavailable(
            "embedded_failed",
            f"the embedded database server in {self.data} {what}",
            hint="the last lines of its log are in the facts; or name another server with TASKS_DATABASE_URL",
            log=said.splitlines()[-_TOLD:],
        )


def _answers(socket: Path) -> bool:
    # hostaddr and dbname are named, or the environment (PGHOSTADDR) would fill them in
    where = make_conninfo("", host=str(socket), hostaddr="", port=PORT, user=SUPERUSER, dbname=SUPERUSER)
    try:
        psycopg.connect(where, connect_timeout=5).close()
    except psycopg.Error:
        return False
    return True


def _occupied(data: Path) -> bool:
    # After a crash the pid in this file may be anybody's. PostgreSQL believes any living process of its
    # user and would refuse to start for ever; a server always works inside its own folder.
    pidfile = data / "postmaster.pid"
    with suppress(OSError, ValueError, IndexError, psutil.Error):
        pid = int(pidfile.read_text(encoding="ascii").split()[0])
        if Path(psutil.Process(pid).cwd()).samefile(data):
            return True
        pidfile.unlink()
    return False
