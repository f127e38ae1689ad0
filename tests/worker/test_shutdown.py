"""Told to end: eight steps, each of them tried whatever became of the others, and told how it went."""

import json
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from statemachine.attempts import AttemptState, StopReason
from statemachine.tasks import TaskState
from store import workers
from store.workers import Worker
from tests.agents import is_alive
from tests.proxies import Proxy
from tests.recovery.scenes import HOLD, UNSAFE, armed, arming, go_on, handle, serving_with_a_git_that_stops, until
from tests.store.scenes import asked
from tests.workshop import Workshop, edit, item

EDIT = "open('a.txt', 'a').write('x\\n')\n"
ONCE = "turn == 1 and (ring(), hold())\n" + EDIT
# Says on its pipe that it was told to end, and ends only when it is killed.
STUBBORN = "signal.signal(signal.SIGTERM, lambda *_: ring())\nring()\nwhile True: hold()\n"
PUBLISH = " for-each-ref "
TWO = (item("P1", edit("a.txt")), item("P2", edit("a.txt")))


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    between = Proxy(database_url)
    yield between
    between.close()


def worker(workshop: Workshop, superuser_url: str) -> Worker:
    """Read the row of the last worker that was started."""
    ((number,),) = asked(superuser_url, "SELECT max(id) FROM worker WHERE slots < 100")
    with workshop.database.connection() as db:
        found: Any = db.execute("SELECT * FROM worker WHERE id = %s", (number,)).fetchone()
    return Worker(**found)


def told(service: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Read the error a worker ended with."""
    assert service.stderr is not None
    return dict(json.loads(service.stderr.read().splitlines()[-1])["error"])


# ---------------------------------------------------------------- a clean end


@pytest.mark.case("R15")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_either_signal_ends_the_agent_settles_it_and_signs_off(
    workshop: Workshop, superuser_url: str, number: signal.Signals
) -> None:
    task = workshop.add(ONCE)
    with workshop.serving() as service:
        workshop.heard()
        agent = handle(workshop, task)
        service.send_signal(number)

    attempt, row = workshop.attempts(task)[0], worker(workshop, superuser_url)
    assert service.wait() == 0
    assert (attempt.state, attempt.first_reason) == (AttemptState.stopped, StopReason.shutdown)
    assert (workshop.look(task).state, row.state) == (TaskState.queued, "gone")
    assert not is_alive(agent.pid)
    with workshop.database.session() as db:
        assert workers.lock_is_free(db, row.id)


@pytest.mark.case("R15")
def test_between_two_items_the_next_is_not_begun(workshop: Workshop) -> None:
    task = workshop.add(arming(workshop) + EDIT, *TWO)
    with serving_with_a_git_that_stops(workshop, PUBLISH) as service:
        workshop.heard()
        service.terminate()
        go_on(workshop)
        code = service.wait()

    assert code == 0
    assert workshop.events(task) == ["add", "claim", "settle", "release"]
    assert [attempt.state for attempt in workshop.attempts(task)] == [AttemptState.completed]
    assert workshop.refs()[f"refs/weighlock/tasks/{task.id}"] == workshop.look(task).head
    assert workshop.work(task).state is TaskState.in_review


def test_an_attempt_that_is_prepared_is_never_launched(workshop: Workshop) -> None:
    task = workshop.add(EDIT)
    armed(workshop).touch()
    with serving_with_a_git_that_stops(workshop, " ls-tree ") as service:
        workshop.heard()
        service.terminate()
        armed(workshop).unlink()
        go_on(workshop)
        code = service.wait()

    (attempt,) = workshop.attempts(task)
    assert code == 0
    assert (attempt.state, attempt.started_at, attempt.first_reason) == (
        AttemptState.stopped,
        None,
        StopReason.shutdown,
    )
    assert workshop.look(task).state is TaskState.queued


def test_what_an_agent_did_before_it_was_stopped_still_counts(workshop: Workshop) -> None:
    task = workshop.add(UNSAFE + HOLD)
    with workshop.serving() as service:
        workshop.heard()
        service.terminate()

    assert service.wait() == 0
    assert (workshop.look(task).state, workshop.kinds(task)) == (TaskState.needs_human, ["new_symlink"])
    assert workshop.attempts(task)[0].state is AttemptState.stopped


@pytest.mark.case("R16")
def test_a_second_signal_skips_no_step(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(STUBBORN)
    with workshop.serving() as service:
        workshop.heard()
        agent = handle(workshop, task)
        service.terminate()
        workshop.heard()  # it was told to end, and does not
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            service.send_signal(number)

    attempt = workshop.attempts(task)[0]
    assert service.wait() == 0
    assert (attempt.state, workshop.look(task).state) == (AttemptState.stopped, TaskState.queued)
    assert worker(workshop, superuser_url).state == "gone"
    assert not is_alive(agent.pid)


# ---------------------------------------------------------------- an end that is not clean


def test_past_its_grace_a_task_stays_for_recovery_and_the_worker_says_so(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(STUBBORN)
    with workshop.serving("--grace", "1s", "--json", stderr=subprocess.PIPE) as service:
        workshop.heard()
        agent = handle(workshop, task)
        service.terminate()
        error, code = told(service), service.wait()

    left = workshop.look(task).state
    until(lambda: not is_alive(agent.pid), "its supervisor ended the agent")
    workshop.recover()

    assert (code, error["code"], error["facts"]["first"]) == (130, "shutdown_incomplete", "grace_over")
    assert (left, worker(workshop, superuser_url).state) == (TaskState.running, "gone")
    assert (workshop.attempts(task)[0].state, workshop.look(task).state) == (
        AttemptState.interrupted,
        TaskState.queued,
    )


def test_a_step_that_fails_keeps_no_other_from_being_done(workshop: Workshop, superuser_url: str, proxy: Proxy) -> None:
    task = workshop.add(ONCE)
    with workshop.serving("--json", url=proxy.url, stderr=subprocess.PIPE) as service:
        workshop.heard()
        cut = proxy.cut_at("Say that a worker drains", "draining")
        service.terminate()
        error, code = told(service), service.wait()

    assert cut.done.is_set()
    assert (code, error["code"], error["facts"]["first"]) == (130, "shutdown_incomplete", "commit_ambiguous")
    assert workshop.attempts(task)[0].state is AttemptState.stopped
    assert (workshop.look(task).state, worker(workshop, superuser_url).state) == (TaskState.queued, "gone")


def test_a_task_that_nobody_drives_is_released(workshop: Workshop, superuser_url: str, proxy: Proxy) -> None:
    task = workshop.add(EDIT)
    cut = proxy.cut_at("Claim the next", answered=True, held=True)
    with workshop.serving(url=proxy.url) as service:
        cut.reached.wait()
        service.terminate()
        cut.go.set()

    assert service.wait() == 0
    assert cut.done.is_set()
    assert workshop.events(task) == ["add", "claim", "release"]


def test_a_claim_whose_answer_was_lost_is_given_back_and_made_again(workshop: Workshop, proxy: Proxy) -> None:
    task = workshop.add(EDIT)
    cut = proxy.cut_at("Claim the next", answered=True)
    with workshop.serving(url=proxy.url) as service:
        until(lambda: workshop.look(task).state is TaskState.in_review, "it is done")
        service.terminate()

    assert cut.done.is_set()
    assert workshop.events(task) == ["add", "claim", "release", "claim", "settle", "submit"]


def test_a_task_stopped_by_a_person_is_halted_and_not_released(workshop: Workshop) -> None:
    task = workshop.add(arming(workshop) + EDIT, *TWO)
    with serving_with_a_git_that_stops(workshop, PUBLISH) as service:
        workshop.heard()
        with workshop.database.connection() as db:
            db.execute(
                "UPDATE task SET stop_reason = 'user', stop_by = 'rev', version = version + 1 WHERE id = %s",
                (task.id,),
            )
        service.terminate()
        go_on(workshop)
        service.wait()

    assert workshop.events(task)[-1] == "halt"
