"""Workers that are killed while an agent runs: what it left is judged, nothing of it is committed, the task goes on."""

import signal
from pathlib import Path

import pytest

from statemachine.attempts import AttemptKind, AttemptState
from statemachine.tasks import TaskState
from tests.agents import is_alive
from tests.recovery.scenes import (
    HOLD,
    PARTIAL,
    UNSAFE,
    arming,
    end,
    everything,
    expire,
    go_on,
    handle,
    kill_working,
    orphan,
    result_of,
    said,
    serving_with_a_git_that_stops,
    unsaid,
)
from tests.store.scenes import asked
from tests.workshop import EVERYWHERE, Workshop, edit, item


@pytest.mark.case("R01", "R06", "R08")
def test_safe_partial_work_is_kept_and_the_task_starts_afresh(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(PARTIAL)
    kill_working(workshop, superuser_url)
    still_leased = asked(superuser_url, "SELECT lease_expires > now() FROM task WHERE id = %s", task.id)

    report, again = workshop.recover(), workshop.recover()

    attempt = workshop.attempts(task)[0]
    kept = next(output for output in workshop.outputs(task) if output.kind == "diff")
    assert (still_leased, again.lines, again.complete) == ([(True,)], (), True)
    assert (said(report), unsaid(report)) == ([(task.id, "queued"), (task.id, "workspace_quarantined")], [])
    assert (attempt.state, attempt.exit_code, attempt.outcome) == (AttemptState.interrupted, None, None)
    assert "+half" in Path(kept.path).read_text(encoding="utf-8")
    assert Path(kept.path).stat().st_mode & 0o777 == 0o600
    assert (workshop.ledger(task), workshop.findings(task)) == ([], [])
    assert workshop.look(task).head == task.base
    assert [row.state for row in workshop.allocations(task)] == ["quarantined"]


@pytest.mark.case("R06")
def test_the_next_attempt_gets_a_fresh_workspace_and_uses_no_retry(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(PARTIAL, item("P1", edit("a.txt"), retries=0))
    kill_working(workshop, superuser_url)
    workshop.recover()

    rested = workshop.work(task)

    assert rested.state is TaskState.in_review
    assert workshop.show(rested.head, "a.txt") == "a\nx"
    assert [row.state for row in workshop.allocations(task)] == ["quarantined", "released"]
    assert workshop.events(task) == ["add", "claim", "take_over", "requeue", "claim", "settle", "submit"]


@pytest.mark.case("R05", "R01")
@EVERYWHERE
def test_unsafe_changes_of_a_crashed_agent_are_a_finding(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(UNSAFE + HOLD)
    kill_working(workshop, superuser_url)

    report = workshop.recover()

    assert said(report) == [(task.id, "needs_human"), (task.id, "workspace_quarantined")]
    assert workshop.kinds(task) == ["new_symlink"]
    assert workshop.attempts(task)[0].state is AttemptState.interrupted
    assert workshop.events(task) == ["add", "claim", "take_over", "raise_finding"]


@pytest.mark.case("R05")
def test_a_hook_a_crashed_agent_wrote_is_a_finding_and_never_runs(workshop: Workshop, superuser_url: str) -> None:
    proof = workshop.folder / "proof"
    script = (
        "os.makedirs('.git/hooks')\n"
        f"open('.git/hooks/post-index-change', 'w').write('#!/bin/sh\\ntouch {proof}\\n')\n"
        "os.chmod('.git/hooks/post-index-change', 0o755)\n"
    )
    task = workshop.add(script + HOLD)
    kill_working(workshop, superuser_url)

    workshop.recover()

    assert workshop.kinds(task) == ["metadata_changed"]
    assert not proof.exists()


@pytest.mark.parametrize(
    "trick",
    [
        "os.unlink(links); os.mkfifo(links)\n",
        "os.unlink(links); os.symlink('/dev/zero', links)\n",
        "open(links, 'w').write('[' * 100_000)\n",
        'open(links, \'w\').write(\'{"version": 1, "links": {}, "more": 1}\')\n',
        "os.unlink(links)\n",
    ],
    ids=["pipe", "link", "deep", "rewritten", "gone"],
)
def test_an_agent_that_spoils_what_is_known_of_its_links_is_a_finding(
    workshop: Workshop, superuser_url: str, trick: str
) -> None:
    script = f"links = f'{workshop.root.attempts}/' + os.environ['TASKS_ATTEMPT'] + '/links.json'\n"
    task = workshop.add(script + trick + HOLD)
    kill_working(workshop, superuser_url)

    workshop.recover()

    (finding,) = workshop.findings(task)
    assert (finding.kind, finding.evidence["code"]) == ("inspection_failed", "links_unknown")
    assert workshop.look(task).state is TaskState.needs_human


@pytest.mark.parametrize("place", ["a folder of others", "nothing"])
def test_a_workspace_that_was_swapped_or_removed_is_not_followed(
    workshop: Workshop, superuser_url: str, place: str
) -> None:
    elsewhere = workshop.folder / "elsewhere"
    elsewhere.mkdir(mode=0o500)
    (elsewhere / "secret.txt").write_text("mine\n", encoding="utf-8")
    swap = f"os.symlink({str(elsewhere)!r}, tree)\n" if place != "nothing" else ""
    task = workshop.add("tree = os.getcwd(); os.rename(tree, tree + '.moved')\n" + swap + HOLD)
    kill_working(workshop, superuser_url)

    workshop.recover()

    expected = ["inspection_failed"] if swap else []
    assert workshop.kinds(task) == expected
    assert workshop.attempts(task)[0].state is AttemptState.interrupted
    assert [output.kind for output in workshop.outputs(task)] == []
    assert (elsewhere.stat().st_mode & 0o777, [each.name for each in elsewhere.iterdir()]) == (0o500, ["secret.txt"])


@pytest.mark.case("F02")
def test_a_judge_that_fails_on_a_crashed_tree_is_a_finding_and_its_output_is_kept(
    workshop: Workshop, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = workshop.add(PARTIAL)
    kill_working(workshop, superuser_url)

    def fail(**_: object) -> None:
        raise ZeroDivisionError("by a tree made for it")

    monkeypatch.setattr("screening.judge", fail)
    workshop.recover()

    (finding,) = workshop.findings(task)
    assert (finding.kind, finding.evidence["code"]) == ("malformed_report", "screening_failed")
    assert [output.kind for output in workshop.outputs(task)] == ["diff"]
    assert workshop.look(task).state is TaskState.needs_human


@pytest.mark.case("R05")
@pytest.mark.hazard("H76")
def test_names_no_text_can_hold_are_stored_and_told(workshop: Workshop, superuser_url: str) -> None:
    names = [b"caf\xff\xfe", b"a\x1b[2Jb", b"two\nlines"]
    script = f"for name in {names!r}: os.symlink(b'/etc/' + name, name)\n"
    task = workshop.add(script + HOLD)
    kill_working(workshop, superuser_url)

    report = workshop.recover()

    assert unsaid(report) == []
    assert {"new_symlink"} <= set(workshop.kinds(task)) <= {"new_symlink", "bad_path"}
    assert all(finding.summary.isprintable() and finding.evidence for finding in workshop.findings(task))


@pytest.mark.case("F19")
def test_what_a_person_permitted_is_evidence_of_a_crashed_attempt_and_not_owed(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.run("os.symlink('x.py', 'src/link')\nturn == 2 and (ring(), hold())\n")
    workshop.approve(task, dismiss_all=True, permit=True, reason="a link beside its target is fine here")
    kill_working(workshop, superuser_url)

    report = workshop.recover()

    attempt = workshop.attempts(task)[-1]
    assert said(report)[0] == (task.id, "queued")
    assert [each["kind"] for each in attempt.evidence["permitted"]] == ["new_symlink"]


def test_what_an_agent_put_in_place_of_its_temporary_folder_is_not_followed(
    workshop: Workshop, superuser_url: str
) -> None:
    mine = workshop.folder / "mine"
    mine.mkdir()
    (mine / "kept.txt").touch()
    task = workshop.add(f"os.rmdir(os.environ['TMPDIR']); os.symlink({str(mine)!r}, os.environ['TMPDIR'])\n" + HOLD)
    kill_working(workshop, superuser_url)

    report = workshop.recover()

    assert (said(report)[0], unsaid(report)) == ((task.id, "queued"), [])
    assert [each.name for each in mine.iterdir()] == ["kept.txt"]


@pytest.mark.parametrize("place", ["a folder of others", "nothing"])
def test_an_agent_that_swaps_the_folder_of_its_attempt_leads_nowhere(
    workshop: Workshop, superuser_url: str, place: str
) -> None:
    mine = workshop.folder / "mine"
    (mine / "tmp" / "deep").mkdir(parents=True)
    swap = f"os.symlink({str(mine)!r}, kept)\n" if place != "nothing" else ""
    script = "kept = os.path.dirname(os.environ['TMPDIR']); os.rename(kept, kept + '.moved')\n"
    task = workshop.add(script + swap + "open('a.txt', 'a').write('x\\n')\n" + HOLD)
    kill_working(workshop, superuser_url)

    report = workshop.recover()

    (finding,) = workshop.findings(task)
    assert (finding.kind, finding.evidence["code"]) == ("inspection_failed", "attempt_folder_lost")
    assert (said(report)[0], unsaid(report)) == ((task.id, "needs_human"), [])
    assert sorted(str(each.relative_to(mine)) for each in mine.rglob("*")) == ["tmp", "tmp/deep"]


@pytest.mark.case("R07", "R01")
def test_the_third_loss_without_progress_is_a_finding(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(HOLD)

    states = []
    for _ in range(3):
        kill_working(workshop, superuser_url)
        workshop.recover()
        states.append(workshop.look(task).state)

    assert states == [TaskState.queued, TaskState.queued, TaskState.needs_human]
    assert workshop.kinds(task) == ["worker_crash_loop"]
    assert [attempt.state for attempt in workshop.attempts(task)] == [AttemptState.interrupted] * 3


@pytest.mark.case("R01")
def test_a_check_of_a_dead_worker_is_interrupted_and_its_throwaway_tree_is_not_judged(
    workshop: Workshop, superuser_url: str
) -> None:
    ran = workshop.folder / "ran"
    check = workshop.agent(
        f"os.symlink('/etc/passwd', 'link')\n"
        f"os.path.exists({str(ran)!r}) or (open({str(ran)!r}, 'w').close(), ring(), hold())\n"
    )
    task = workshop.add("open('a.txt', 'a').write('x\\n')\n", checks=(check,))
    kill_working(workshop, superuser_url)
    child = handle(workshop, task).pid

    report = workshop.recover()

    attempt = workshop.attempts(task)[-1]
    assert (attempt.kind, attempt.state) == (AttemptKind.check, AttemptState.interrupted)
    assert (said(report)[0], workshop.findings(task)) == ((task.id, "queued"), [])
    assert not is_alive(child)
    assert workshop.work(task).state is TaskState.in_review


@pytest.mark.case("R09")
def test_what_a_living_worker_holds_is_untouched(workshop: Workshop) -> None:
    task = workshop.add(HOLD)

    with workshop.serving() as service:
        workshop.heard()
        before = workshop.look(task), workshop.attempts(task), workshop.allocations(task), workshop.history(task)
        report = workshop.recover()
        now = workshop.look(task)
        after = now, workshop.attempts(task), workshop.allocations(task), workshop.history(task)
        service.terminate()

    assert (said(report), unsaid(report)) == ([], [])
    assert (now.lease_worker, now.lease_epoch, now.version) == (
        before[0].lease_worker,
        before[0].lease_epoch,
        before[0].version,
    )
    assert before[1:] == after[1:]


# ---------------------------------------------------------------- agents that live on


@pytest.mark.case("R14")
def test_a_surviving_agent_that_is_proven_ours_is_ended_before_its_tree_is_judged(
    workshop: Workshop, superuser_url: str
) -> None:
    agent, child = orphan(workshop, superuser_url, "start_new_session=True", kill_agent=False)
    alive = is_alive(agent), is_alive(child)

    report = workshop.recover()

    assert alive == (True, True)
    assert (is_alive(agent), is_alive(child)) == (False, False)
    assert said(report)[0][1] == "queued"


@pytest.mark.case("R14")
def test_a_task_waits_for_a_process_that_may_be_its_agent_and_its_lease_is_free(
    workshop: Workshop, superuser_url: str
) -> None:
    _, child = orphan(workshop, superuser_url, "env={}", kill_agent=True)
    before = everything(superuser_url, without=("worker",))

    first, second = workshop.recover(), workshop.recover()
    between = everything(superuser_url, without=("worker",))
    alive = is_alive(child)
    end(child)
    last = workshop.recover()

    assert alive
    assert [unsaid(first), unsaid(second)] == [[(1, "survivor_unproven")]] * 2
    assert str(child) in first.unfinished[0].detail
    assert (said(first), between) == ([], before)
    assert (said(last)[0], unsaid(last)) == ((1, "queued"), [])


@pytest.mark.case("R14")
def test_what_is_proven_is_ended_although_something_doubtful_keeps_the_task_waiting(
    workshop: Workshop, superuser_url: str
) -> None:
    agent, child = orphan(workshop, superuser_url, "env={}", kill_agent=False)

    report = workshop.recover()

    assert not is_alive(agent)
    assert not is_alive(child)
    assert said(report)[0][1] == "queued"


# ---------------------------------------------------------------- a worker that only slept


@pytest.mark.case("R08", "A16")
def test_a_worker_that_slept_past_its_lease_changes_no_row_when_it_wakes(
    workshop: Workshop, superuser_url: str
) -> None:
    task = workshop.add(PARTIAL)
    with workshop.serving() as zombie:
        workshop.heard()
        zombie.send_signal(signal.SIGSTOP)
        expire(superuser_url, task)

        report = workshop.recover()
        rested = workshop.work(task)
        before = everything(superuser_url, without=("worker",))
        zombie.terminate()
        zombie.send_signal(signal.SIGCONT)
        zombie.wait()

        assert everything(superuser_url, without=("worker",)) == before
    assert (said(report)[0], rested.state) == ((task.id, "queued"), TaskState.in_review)
    assert [attempt.state for attempt in workshop.attempts(task)] == [AttemptState.interrupted, AttemptState.completed]
    assert workshop.show(workshop.refs()[f"refs/weighlock/tasks/{task.id}"], "a.txt") == "a\nx"


@pytest.mark.case("R08", "A16", "R13")
def test_a_commit_made_by_a_worker_that_woke_too_late_is_pruned(workshop: Workshop, superuser_url: str) -> None:
    task = workshop.add(arming(workshop) + "open('a.txt', 'a').write('late\\n')\n")
    with serving_with_a_git_that_stops(workshop, " update-ref ") as zombie:
        workshop.heard()
        zombie.send_signal(signal.SIGSTOP)
        expire(superuser_url, task)
        result_of(workshop, task).unlink()

        workshop.recover()
        before = everything(superuser_url, without=("worker",))
        zombie.terminate()
        go_on(workshop)
        zombie.send_signal(signal.SIGCONT)
        zombie.wait()
        late = [ref for ref in workshop.refs() if "/attempts/" in ref]
        report = workshop.recover()

        assert everything(superuser_url, without=("worker",)) == before
    assert late == [f"refs/weighlock/attempts/{workshop.attempts(task)[0].id}"]
    assert said(report) == [(task.id, "refs_repaired")]
    assert [ref for ref in workshop.refs() if "/attempts/" in ref] == []
    assert workshop.look(task).head == task.base
