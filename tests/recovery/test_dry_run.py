"""A dry run says what a pass would do, in the same words, and leaves every row, file, ref and process as it is."""

from datetime import timedelta

import pytest

from recovery.reports import Report
from statemachine.attempts import StopReason
from tests.agents import is_alive
from tests.factories import a_running_task, an_attempt, git
from tests.recovery.scenes import (
    HOLD,
    PARTIAL,
    UNSAFE,
    begun,
    everything,
    expire,
    files,
    handle,
    kill_working,
    launched,
    orphan,
    quiet,
    ready,
    said,
)
from tests.store.scenes import aged, stop
from tests.workshop import Workshop
from workspace.repository.refs import attempt_ref, task_ref


def lines(report: Report) -> tuple[object, ...]:
    return report.lines, report.unknown, report.unfinished


@pytest.mark.case("R18")
def test_it_prints_the_same_report_for_everything_that_can_be_found_and_changes_nothing(
    workshop: Workshop, superuser_url: str
) -> None:
    database = workshop.database
    begun(workshop)
    published = workshop.run("open('a.txt', 'a').write('y\\n')\n")
    pending, halted, spent, exhausted = (
        a_running_task(database, workshop.add("", budget=timedelta(hours=1))) for _ in range(4)
    )
    made = an_attempt(database, pending, launched=False)
    ready(database, made)
    stop(database, halted, StopReason.user, actor="rev")
    aged(superuser_url, "UPDATE task SET running_since = running_since - interval '2 hours' WHERE id = %s", spent.id)
    expire(superuser_url, pending, halted, spent)
    launched(database, an_attempt(database, exhausted, launched=False), host="elsewhere")
    expire(superuser_url, exhausted)
    queued = workshop.add("", budget=timedelta(hours=1))
    aged(superuser_url, "UPDATE task SET spent = budget WHERE id = %s", queued.id)
    git(workshop.runner().path, "update-ref", "-d", task_ref(published.id))
    git(workshop.runner().path, "update-ref", attempt_ref(made.id), published.base)
    git(workshop.runner().path, "update-ref", "refs/weighlock/attempts/mine", published.base)
    rows, disk = everything(superuser_url), files(workshop.root.path)

    dry = workshop.recover(dry_run=True)
    changed = everything(superuser_url) == rows, files(workshop.root.path) == disk
    wet = workshop.recover()

    assert changed == (True, True)
    assert (dry.dry_run, wet.dry_run) == (True, False)
    assert lines(dry) == lines(wet)
    assert [line.what for line in wet.unknown] == ["unknown_ref"]
    assert {what for _, what in said(wet)} == {
        "queued",
        "needs_human",
        "hit_limit",
        "fail_merge",
        "refs_repaired",
        "workspace_quarantined",
    }


@pytest.mark.case("R18")
@pytest.mark.parametrize("script", [PARTIAL, UNSAFE + HOLD, "os.chmod('src', 0)\n" + HOLD])
def test_it_judges_the_tree_of_a_crashed_agent_and_leaves_no_trace_of_it(
    workshop: Workshop, superuser_url: str, script: str
) -> None:
    task = workshop.add(script)
    kill_working(workshop, superuser_url)
    quiet(handle(workshop, task))
    rows, disk = everything(superuser_url), files(workshop.root.path)

    dry = workshop.recover(dry_run=True)
    changed = everything(superuser_url) == rows, files(workshop.root.path) == disk
    wet = workshop.recover()

    assert changed == (True, True)
    assert lines(dry) == lines(wet)


@pytest.mark.case("R18", "R14")
def test_it_ends_no_agent_and_judges_no_tree_that_lives(workshop: Workshop, superuser_url: str) -> None:
    agent, child = orphan(workshop, superuser_url, "start_new_session=True", kill_agent=False)
    rows, disk = everything(superuser_url), files(workshop.root.path)

    dry = workshop.recover(dry_run=True)
    alive = is_alive(agent), is_alive(child)
    changed = everything(superuser_url) == rows, files(workshop.root.path) == disk
    wet = workshop.recover()

    assert (alive, changed) == ((True, True), (True, True))
    assert said(dry) == [(1, "take_over")]
    assert "its agent is alive" in dry.lines[0].detail
    assert said(wet)[0] == (1, "queued")
