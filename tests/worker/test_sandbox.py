"""The worker and the sandbox together: limits that end an attempt, terms of a repository, and nothing left behind."""

import json
from dataclasses import replace

import psycopg
import pytest

from statemachine.attempts import AttemptState
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store.tasks import Task
from tests.workshop import SANDBOXED, Workshop, edit, item
from workspace.agents.confinement import Confinement
from workspace.executors import bubblewrap

WRITE = "open('a.txt', 'a').write('x')\n"
FORKS = """
for _ in range(400):
    try:
        if os.fork() == 0:
            signal.pause()
    except OSError:
        pass
signal.pause()
"""

pytestmark = SANDBOXED


def under(workshop: Workshop, task: Task, superuser_url: str, **policy: object) -> Task:
    """Work on a task under another policy."""
    with psycopg.connect(superuser_url) as db:
        db.execute("UPDATE repository SET policy = %s WHERE id = %s", [json.dumps(policy), task.repository_id])
    return workshop.work(task)


@pytest.mark.case("W21")
def test_an_agent_that_multiplies_fails_its_attempt_and_the_database_goes_on(workshop: Workshop) -> None:
    task = workshop.add(FORKS, item("P1", edit("a.txt"), retries=0))

    rested = workshop.work(task, confinement=replace(workshop.confinement, processes=64))

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.isolation_failure) == (AttemptState.failed, "process_limit")
    assert (rested.state, workshop.findings(task)) == (TaskState.needs_human, [])


@pytest.mark.case("K06")
def test_on_a_disk_that_is_nearly_full_nothing_is_started_and_nothing_is_recorded_as_done(workshop: Workshop) -> None:
    task = workshop.add(WRITE, item("P1", edit("a.txt"), retries=0))

    rested = workshop.work(task, confinement=Confinement(min_free=1 << 62, min_free_share=0.9999))

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.failure_code, attempt.exit_code) == (AttemptState.failed, "disk_low", None)
    assert (rested.head, workshop.ledger(task), workshop.outputs(task)) == (task.base, [], [])


@pytest.mark.case("S15")
def test_a_process_that_outlives_the_agent_is_a_note_where_the_kernel_ends_it(workshop: Workshop) -> None:
    task = workshop.run(WRITE + "subprocess.Popen(['sleep', '600'], start_new_session=True)\n")

    attempt = workshop.attempts(task)[0]
    assert (task.state, workshop.findings(task)) == (TaskState.in_review, [])
    assert any("sleep 600" in note for note in attempt.evidence["notes"])


def test_a_commit_of_the_agents_own_is_thrown_away(workshop: Workshop) -> None:
    task = workshop.run(WRITE + "subprocess.run(['git', 'commit', '-qam', 'mine'], check=True)\n")

    assert (task.state, workshop.findings(task)) == (TaskState.in_review, [])
    assert "mine" not in workshop.show(task.head, "")


def test_what_was_made_for_an_attempt_is_gone_after_it(workshop: Workshop) -> None:
    task = workshop.run(WRITE, checks=("test -f a.txt", "git status"))

    left = {each.name for attempt in workshop.root.attempts.iterdir() for each in attempt.iterdir()}
    assert task.state is TaskState.in_review
    assert left == {"check-1.log", "check-2.log", "links.json", "output.log", "prompt.md", "result.json"}
    assert list(workshop.root.workspaces.iterdir()) == []


@pytest.mark.case("W23")
def test_a_secret_of_the_policy_is_given_to_the_agent_and_masked_in_what_it_prints(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_KEY", "hunter2-hunter2")
    task = workshop.add(WRITE + "print('key', os.environ['VENDOR_KEY'])\n")

    rested = under(workshop, task, superuser_url, secrets=["VENDOR_KEY"])

    assert rested.state is TaskState.in_review
    assert workshop.log(task) == "key ***\n"


def test_a_policy_that_makes_no_sense_starts_nothing(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(WRITE, item("P1", edit("a.txt"), retries=0))

    under(workshop, task, superuser_url, network="everywhere")

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.failure_code, attempt.exit_code) == (AttemptState.failed, "policy_invalid", None)


@pytest.mark.case("W20")
def test_a_task_is_refused_where_no_sandbox_can_be_made(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "_PLACES", "/nowhere")
    bubblewrap.probe.cache_clear()

    with pytest.raises(Refusal) as refused:
        workshop.add(WRITE)

    assert refused.value.code == "executor_unavailable"
