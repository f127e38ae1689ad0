"""A PostgreSQL server of a test's own, which may be stopped as a crash stops it and started again."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from store import embedded, programs, roles
from store.clusters import Cluster
from tests.conftest import FAST
from tests.conftest import Cluster as Names

# What was committed must be there after a crash of the server alone; the machine is not what crashes here.
SETTINGS = {**FAST, "synchronous_commit": "on"}
PATIENCE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Server:
    """Name its data, its socket and its users' databases."""

    data: Path
    socket: Path
    names: Names

    def crash(self) -> None:
        """Stop it in the middle of everything; what it comes back with is what was committed."""
        stopped = programs.run(
            "pg_ctl",
            "stop",
            "-m",
            "immediate",
            "-s",
            "-D",
            str(self.data),
            account=programs.account_of(self.data),
            patience=PATIENCE,
        )
        assert stopped.code == 0, stopped.said

    def start(self) -> None:
        """Start it again and wait until it answers."""
        Cluster(self.data).serve(self.socket, PATIENCE)

    def restart(self) -> None:
        """Crash and come back."""
        self.crash()
        self.start()


@contextmanager
def a_server() -> Iterator[Server]:
    """Run a server with a migrated database to clone from."""
    folder = Path(tempfile.mkdtemp(prefix="weighlock-server-"))
    folder.chmod(0o711)  # the user it runs as may pass
    server = embedded.attach(folder / "state", settings=SETTINGS)
    try:
        yield Server(server.data, server.socket, Names(superuser=server.superuser_url, template=roles.DATABASE))
    finally:
        server.leave()
        shutil.rmtree(folder, ignore_errors=True)
