"""A line that is cut while a worker writes: it writes again, or finds that it had; never twice, never nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from store.engine import Database, open_database
from tests.agents import is_alive
from tests.proxies import Proxy
from tests.recovery.scenes import everything, expire, handle, said, until
from tests.workshop import PATIENCE, Workshop, a_workshop, edit, item

EDIT = "open('a.txt', 'a').write('x\\n')\n"
TWO = (item("P1", edit("a.txt")), item("P2", edit("a.txt")))
MOVE = "Move a task along one edge"


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    between = Proxy(database_url)
    yield between
    between.close()


@pytest.fixture
def far(proxy: Proxy, tmp_path: Path) -> Iterator[Workshop]:
    """Open a workshop whose worker reaches the server through a line that can be cut."""
    through = open_database(proxy.url, state=tmp_path, name="far", patience=PATIENCE)
    yield a_workshop(through, proxy.url, tmp_path)
    through.close()


def ran_once(workshop: Workshop) -> bool:
    """Tell whether the agent ran once for each item."""
    (turns,) = workshop.folder.glob("agent-*.turns")
    words = turns.read_text(encoding="utf-8").split()
    return sorted(words) == ["P1", "P2"]


@pytest.mark.case("S13", "S14")
@pytest.mark.parametrize("answered", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize(
    "words",
    [
        (MOVE, "settle"),
        (MOVE, "submit"),
        ("What decides a held task's next step",),
        ("Fingerprints a person permitted",),
        ("The refs a task's rows ask for",),
    ],
    ids=lambda words: words[-1],
)
def test_what_is_written_after_an_agent_ended_is_written_once_and_the_agent_runs_once(
    far: Workshop, proxy: Proxy, words: tuple[str, ...], *, answered: bool
) -> None:
    task = far.add(EDIT, *TWO)
    cut = proxy.cut_at(*words, answered=answered)

    rested = far.work(task)

    assert cut.done.is_set()
    assert rested.state is TaskState.in_review
    assert far.events(task) == ["add", "claim", "settle", "settle", "submit"]
    assert [attempt.state for attempt in far.attempts(task)] == [AttemptState.completed] * 2
    assert [entry.commit for entry in far.ledger(task)] == [attempt.commit for attempt in far.attempts(task)]
    assert len(far.outputs(task)) == 2
    assert ran_once(far)
    far.recover()
    assert far.refs()[f"refs/weighlock/tasks/{task.id}"] == rested.head


@pytest.mark.case("S13", "S14")
@pytest.mark.parametrize("answered", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize(
    "words", [("What settlement weighs",), (MOVE, "exit"), ("; COMMIT",)], ids=lambda words: words[-1]
)
def test_a_failure_is_written_once_and_uses_one_retry(
    far: Workshop, proxy: Proxy, words: tuple[str, ...], *, answered: bool
) -> None:
    task = far.add("turn == 1 and sys.exit(1)\n" + EDIT)
    cut = proxy.cut_at(*words, answered=answered)

    rested = far.work(task)

    assert cut.done.is_set()
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in far.attempts(task)] == [AttemptState.failed, AttemptState.completed]
    assert len(far.ledger(task)) == 1


@pytest.mark.case("S13")
def test_until_it_is_settled_workspace_and_result_are_kept(far: Workshop, proxy: Proxy) -> None:
    task = far.add(EDIT)
    cut = proxy.cut_at(MOVE, "settle", held=True)

    with far.working(task):
        cut.reached.wait()
        attempt = far.attempts(task)[0]
        kept = [path.name for path in (far.root.attempts / str(attempt.id)).iterdir()]
        states = [row.state for row in far.allocations(task)]
        cut.go.set()

    assert "output.log" in kept
    assert states == ["ready"]
    assert far.look(task).state is TaskState.in_review
    assert [row.state for row in far.allocations(task)] == ["released"]


# ---------------------------------------------------------------- a line that is only silent


@pytest.mark.hazard("H107")
@pytest.mark.case("A16")
def test_behind_a_partition_a_worker_ends_its_agent_and_writes_nothing_when_it_is_back(
    far: Workshop, proxy: Proxy, database: Database, superuser_url: str
) -> None:
    task = far.add("turn == 1 and (ring(), hold())\n" + EDIT)
    near = replace(far, database=database, said=[])
    with far.working(task, lease=timedelta(seconds=3)):
        far.heard()
        agent = handle(near, task)
        with proxy.partition():
            until(lambda: not is_alive(agent.pid), "its worker ended the agent")
            expire(superuser_url, task)
            report = near.recover()
            rested = near.work(task)
            before = everything(superuser_url, without=("worker",))

    assert everything(superuser_url, without=("worker",)) == before
    assert said(report)[0] == (task.id, "queued")
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in near.attempts(task)] == [AttemptState.interrupted, AttemptState.completed]
    assert near.refs()[f"refs/weighlock/tasks/{task.id}"] == rested.head
    assert any("lease_lost" in line for line in far.said)
