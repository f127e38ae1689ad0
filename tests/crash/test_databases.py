"""The database is killed under a worker at every named point, or cut off after COMMIT: what was run settles once."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from store import roles
from store.engine import open_database
from store.statements import statement
from tests.conftest import _clone
from tests.crash.scenes import APPEND, UNSAFE, WAITING, Stage, between
from tests.crash.servers import Server, a_server
from tests.crash.test_recoveries import INTERRUPTED, KEPT
from tests.crash.test_shutdowns import SHUTDOWN
from tests.factories import git
from tests.proxies import Proxy
from tests.workshop import a_workshop

BEFORE = between("claimed", "handle_noted")
RUNNING = [point for point in between("agent_let_go", "moved_on") if point != "exported"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with a_server() as running:
        yield running


@pytest.fixture
def shaken(server: Server, tmp_path: Path) -> Iterator[Stage]:
    """Set the stage on a server that may be killed."""
    with _clone(server.names, server.names.template) as name:
        url = server.names.url(name, roles.APP)
        database = open_database(url, state=tmp_path, name="test", patience=timedelta(seconds=10))
        yield Stage(workshop=a_workshop(database, url, tmp_path), superuser_url=server.names.url(name))
        database.close()


@pytest.mark.case("R17", "S13")
@pytest.mark.parametrize("point", RUNNING)
def test_a_database_that_crashes_once_the_agent_runs_is_waited_for(shaken: Stage, server: Server, point: str) -> None:
    task = shaken.add(APPEND)
    with shaken.held_at(point, "work", "--once") as worker:
        server.restart()
    shaken.seen_gone(worker)

    rested = shaken.repaired(task)

    assert shaken.wrongs() == []
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in shaken.workshop.attempts(task)] == [AttemptState.completed]


@pytest.mark.case("R17")
@pytest.mark.parametrize("point", BEFORE)
def test_a_database_that_crashes_before_the_agent_runs_costs_nothing_but_a_new_beginning(
    shaken: Stage, server: Server, point: str
) -> None:
    task = shaken.add(APPEND)
    with shaken.held_at(point, "work", "--once") as worker:
        server.restart()
    shaken.seen_gone(worker)

    rested = shaken.repaired(task)

    assert shaken.wrongs() == []
    assert rested.state is TaskState.in_review
    assert {attempt.state for attempt in shaken.workshop.attempts(task)} <= {"interrupted", "completed"}


@pytest.mark.case("R17", "R10")
@pytest.mark.parametrize("point", INTERRUPTED)
def test_a_database_that_crashes_under_a_recovery_leaves_it_to_the_next_one(
    shaken: Stage, server: Server, point: str
) -> None:
    task = shaken.add(UNSAFE)
    shaken.killed_at("agent_ended", "work")
    with shaken.held_at(point, "recover") as recovery:
        server.restart()
    shaken.seen_gone(recovery)

    rested = shaken.repaired(task)

    assert shaken.wrongs() == []
    assert (rested.state, shaken.workshop.kinds(task)) == (TaskState.needs_human, ["new_symlink"])


@pytest.mark.case("R17", "R04")
@pytest.mark.parametrize("point", KEPT)
def test_a_database_that_crashes_over_a_kept_result_has_it_settled_once(
    shaken: Stage, server: Server, point: str
) -> None:
    task = shaken.add(APPEND)
    shaken.killed_at("result_kept", "work")
    with shaken.held_at(point, "recover") as recovery:
        server.restart()
    shaken.seen_gone(recovery)

    rested = shaken.repaired(task)

    assert shaken.wrongs() == []
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in shaken.workshop.attempts(task)] == [AttemptState.completed]


@pytest.mark.case("R17", "R15")
@pytest.mark.parametrize("point", SHUTDOWN)
def test_a_database_that_crashes_under_a_shutdown_keeps_no_worker_from_ending(
    shaken: Stage, server: Server, point: str
) -> None:
    task = shaken.add(WAITING)
    with shaken.held_at(point, "work", told_to_end=True) as worker:
        server.restart()
    shaken.seen_gone(worker)

    rested = shaken.repaired(task)

    first, second = shaken.workshop.attempts(task)
    assert shaken.wrongs() == []
    assert rested.state is TaskState.in_review
    assert (first.state, second.state) in {("stopped", "completed"), ("interrupted", "completed")}


@pytest.mark.case("R17", "M07")
@pytest.mark.parametrize("point", ["target_seen", "merge_begun", "push_marked", "pushed", "confirming", "confirmed"])
def test_a_database_that_crashes_under_a_merge_leaves_one_merge_or_none(
    shaken: Stage, server: Server, point: str
) -> None:
    task = shaken.workshop.approve(shaken.workshop.work(shaken.add(APPEND)))
    with shaken.held_at(point, "merge", task.id):
        server.restart()
    shaken.lapse_merges()

    report = shaken.workshop.recover()

    pushed = git(shaken.workshop.repository, "rev-parse", "main") == task.head
    assert report.complete
    assert shaken.wrongs() == []
    assert shaken.workshop.look(task).state is (TaskState.merged if pushed else TaskState.merge_blocked)


@pytest.mark.case("S13", "S14")
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", ["move_task", "commit", "end_allocation"])
def test_a_line_cut_while_an_end_is_written_settles_it_once(
    stage: Stage, superuser_url: str, name: str, *, answered: bool
) -> None:
    task = stage.add(APPEND)
    cut(stage, superuser_url, name, answered=answered)

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in stage.workshop.attempts(task)] == [AttemptState.completed]


@pytest.mark.case("S14")
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "name",
    ["claim_task", "admit_attempt", "reserve_allocation", "ready_allocation", "launch_attempt", "note_handle"],
)
def test_a_line_cut_on_the_way_to_the_launch_leaves_a_task_that_goes_on(
    stage: Stage, superuser_url: str, name: str, *, answered: bool
) -> None:
    task = stage.add(APPEND)
    cut(stage, superuser_url, name, answered=answered)

    rested = stage.repaired(task)

    assert stage.wrongs() == []
    assert rested.state is TaskState.in_review
    assert [attempt.state for attempt in stage.workshop.attempts(task)][-1] is AttemptState.completed


def cut(stage: Stage, url: str, name: str, *, answered: bool) -> None:
    """Work once over a line that is cut at a statement, before it arrives or once it is done."""
    proxy = Proxy(make_conninfo(url, user=roles.APP))
    try:
        words = "; COMMIT" if name == "commit" else statement(name).split("\n")[0]
        done = proxy.cut_at(words, answered=answered).done
        with stage.process("work", "--once", TASKS_DATABASE_URL=proxy.url) as worker:
            worker.wait()
        assert done.is_set(), f"nobody asked for {name}"
    finally:
        proxy.close()
    stage.seen_gone(worker)
