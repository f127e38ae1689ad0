"""Many at once: several workers with several slots, and a server that goes away under all of them."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from store import embedded
from store.clusters import Cluster
from store.embedded import Server
from store.engine import open_database
from store.programs import account_of, run
from store.tasks import Task
from tests.recovery.scenes import until
from tests.store.scenes import asked
from tests.workshop import PATIENCE, Workshop, a_workshop

FAST: Final = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB"}
EIGHT: Final = 8
# Says that it runs, and goes on once it may.
WAITS: Final = (
    "here = os.path.join(os.path.dirname(__file__), 'here')\n"
    "open(os.path.join(here, os.environ['TASKS_ATTEMPT']), 'w').close()\n"
    "go = os.open(os.path.join(os.path.dirname(__file__), 'go'), os.O_RDONLY)\n"
    "while not os.read(go, 1): pass\n"
)
WRITES: Final = "open('a.txt', 'a').write(os.environ['TASKS_TASK'])\n"


def done(workshop: Workshop, added: list[Task]) -> bool:
    return all(workshop.look(task).state is TaskState.in_review for task in added)


def gaps(workshop: Workshop, superuser_url: str) -> list[tuple[int]]:
    """List tasks whose history is not as long as they say."""
    query = (
        "SELECT task.id FROM task JOIN task_event line ON line.task_id = task.id"
        " GROUP BY task.id, task.seq HAVING count(*) <> task.seq OR min(line.seq) <> 1 OR max(line.seq) <> task.seq"
    )
    return asked(superuser_url, query)


@pytest.mark.case("A05", "K04")
def test_two_workers_of_four_slots_run_every_task_once(workshop: Workshop, superuser_url: str) -> None:
    added = [workshop.add(WRITES) for _ in range(16)]

    with ExitStack() as ends:
        services = [ends.enter_context(workshop.serving("--once", "--slots", 4)) for _ in range(2)]
        codes = [service.wait() for service in services]

    attempts = [workshop.attempts(task) for task in added]
    by = Counter(attempt.worker_id for each in attempts for attempt in each)
    assert codes == [0, 0]
    assert done(workshop, added)
    assert [len(each) for each in attempts] == [1] * len(added)
    assert len(by) == 2
    assert all(workshop.events(task) == ["add", "claim", "settle", "submit"] for task in added)
    assert [workshop.show(workshop.look(task).head, "a.txt") for task in added] == [f"a\n{task.id}" for task in added]
    assert gaps(workshop, superuser_url) == []


# ---------------------------------------------------------------- a server that goes away


@pytest.fixture
def server() -> Iterator[Server]:
    """Run a server of this test's own."""
    folder = Path(tempfile.mkdtemp(prefix="weighlock-away-"))
    folder.chmod(0o711)
    own = embedded.attach(folder / "state", settings=FAST)
    yield own
    own.leave()
    shutil.rmtree(folder)


@pytest.fixture
def away(server: Server, tmp_path: Path) -> Iterator[Workshop]:
    """Open a workshop on it."""
    opened = open_database(server.url, state=tmp_path, name="test", patience=PATIENCE)
    yield a_workshop(opened, server.url, tmp_path)
    opened.close()


def end_at_once(server: Server) -> None:
    """End the server as a crash would: nothing is finished, nothing is written down first."""
    ended = run(
        "pg_ctl",
        "stop",
        "-m",
        "immediate",
        "-w",
        "-D",
        str(server.data),
        account=account_of(server.data),
        patience=timedelta(minutes=1),
    )
    assert ended.code == 0, ended.said


@pytest.mark.case("R17")
@pytest.mark.parametrize("finishing", ["while it is away", "after it is back"])
def test_eight_agents_settle_once_each_whatever_the_server_did(away: Workshop, server: Server, finishing: str) -> None:
    here, go = away.folder / "here", away.folder / "go"
    here.mkdir()
    os.mkfifo(go)
    added = [away.add(WAITS + WRITES) for _ in range(EIGHT)]
    hold = os.open(go, os.O_RDWR)
    with away.serving("--slots", EIGHT) as service:
        until(lambda: len(list(here.iterdir())) == EIGHT, "eight agents run")
        end_at_once(server)
        if finishing == "while it is away":
            os.write(hold, b"." * EIGHT)
            until(lambda: len(list(away.root.attempts.glob("*/result*"))) == EIGHT, "their trees are inspected")
        Cluster(server.data).serve(server.socket, PATIENCE)
        os.write(hold, b"." * EIGHT * (finishing == "after it is back"))
        until(lambda: done(away, added), "all of them settle")
        service.terminate()
    os.close(hold)

    assert service.wait() == 0
    assert len(list(here.iterdir())) == EIGHT
    assert [[attempt.state for attempt in away.attempts(task)] for task in added] == [[AttemptState.completed]] * EIGHT
    assert [len(away.ledger(task)) for task in added] == [1] * EIGHT
    assert all(away.events(task) == ["add", "claim", "settle", "submit"] for task in added)
    assert gaps(away, server.admin_url) == []
    assert away.recover().complete
