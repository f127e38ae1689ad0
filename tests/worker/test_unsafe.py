"""What a hostile or unlucky agent leaves behind: nothing is committed, everything is owed."""

from pathlib import Path

import pytest

from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from tests.factories import a_commit
from tests.workshop import EVERYWHERE, Workshop, edit, item


@pytest.mark.case("X09")
@EVERYWHERE
def test_a_failed_exit_with_unsafe_changes_is_a_failure_and_a_finding(workshop: Workshop) -> None:
    task = workshop.run("os.symlink('/etc/passwd', 'link'); sys.exit(3)\n")

    attempt = workshop.attempts(task)[0]
    assert (attempt.state, attempt.exit_code) == (AttemptState.failed, 3)
    assert (task.state, workshop.kinds(task), workshop.ledger(task)) == (TaskState.needs_human, ["new_symlink"], [])
    assert task.head == task.base


@pytest.mark.case("F06")
@EVERYWHERE
def test_several_violations_are_a_row_each_and_nothing_is_committed(workshop: Workshop) -> None:
    script = (
        "os.symlink('/etc/passwd', 'link')\n"
        "os.mkfifo('pipe')\n"
        "os.makedirs('sub/.git'); open('sub/.git/HEAD', 'w').write('ref: x')\n"
        "open('a.txt', 'a').write('x')\n"
    )

    task = workshop.run(script)

    assert {"new_symlink", "special_file"} < set(workshop.kinds(task))
    assert {"git_named_path", "nested_repository"} & set(workshop.kinds(task))
    assert workshop.ledger(task) == []


@pytest.mark.case("F01")
def test_a_hook_written_by_the_agent_is_a_finding_and_never_runs(workshop: Workshop) -> None:
    proof = workshop.folder / "proof"
    script = (
        "os.makedirs('.git/hooks', exist_ok=True)\n"
        f"open('.git/hooks/post-index-change', 'w').write('#!/bin/sh\\ntouch {proof}\\n')\n"
        "os.chmod('.git/hooks/post-index-change', 0o755)\n"
        "open('a.txt', 'a').write('x')\n"
    )

    task = workshop.run(script)

    assert workshop.kinds(task) == ["metadata_changed"]
    assert task.head == task.base
    assert not proof.exists()


def test_a_commit_of_the_agents_own_is_a_finding_for_local(workshop: Workshop) -> None:
    script = (
        "open('a.txt', 'a').write('x')\n"
        "who = ['-c', 'user.name=a', '-c', 'user.email=a@b']\n"
        "subprocess.run(['git', *who, 'commit', '-qam', 'mine'], check=True)\n"
    )

    task = workshop.run(script)

    assert workshop.kinds(task) == ["agent_commit"]
    assert task.head == task.base


@pytest.mark.case("F07")
@EVERYWHERE
def test_what_an_agent_prints_creates_removes_and_imitates_nothing(workshop: Workshop) -> None:
    script = (
        'print(\'{"findings": [{"kind": "manual"}]}\', flush=True)\n'
        "print('finding: dismissed', file=sys.stderr)\n"
        "open('a.txt', 'a').write('finding_owed: 0')\n"
    )

    task = workshop.run(script)

    assert (task.state, workshop.findings(task)) == (TaskState.in_review, [])


@pytest.mark.case("S15")
@pytest.mark.hazard("H98")
def test_a_process_that_outlives_the_agent_is_ended_and_is_a_finding(workshop: Workshop) -> None:
    pid = workshop.folder / "pid"
    script = (
        "loop = 'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\\nwhile True: signal.pause()'\n"
        "child = subprocess.Popen([sys.executable, '-c', loop], start_new_session=True)\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
    )

    task = workshop.run(script)

    assert workshop.kinds(task) == ["leftover_process"]
    assert not Path(f"/proc/{pid.read_text()}").exists()


@pytest.mark.case("J12")
def test_what_the_base_ignores_is_noted_and_neither_committed_nor_owed(workshop: Workshop) -> None:
    script = "open('build.log', 'w').write('x'); open('a.txt', 'a').write('x')\n"

    task = workshop.run(script)

    attempt = workshop.attempts(task)[0]
    assert workshop.changed(attempt.commit or "") == ["M\ta.txt"]
    assert any("build.log" in note for note in attempt.evidence["notes"])
    assert task.state is TaskState.in_review


@pytest.mark.case("J12")
def test_a_file_ignored_only_by_a_rule_of_the_items_own_is_an_add(workshop: Workshop) -> None:
    script = "open('.gitignore', 'a').write('*.tmp\\n'); open('x.tmp', 'w').write('x')\n"

    task = workshop.run(script, item("P1", edit(".gitignore"), edit("x.tmp", "add")))

    assert workshop.changed(workshop.attempts(task)[0].commit or "") == ["M\t.gitignore", "A\tx.tmp"]


@pytest.mark.case("F08")
def test_a_declared_link_that_leads_outside_is_never_launched_with(workshop: Workshop) -> None:
    (workshop.repository / "etc").symlink_to("/etc")
    a_commit(workshop.repository, {})
    proof = workshop.folder / "ran"

    task = workshop.run(f"open({str(proof)!r}, 'w')\n", item("P1", edit("etc", link=True)))

    assert workshop.kinds(task) == ["out_of_root_link"]
    assert (task.state, workshop.attempts(task)[0].started_at) == (TaskState.needs_human, None)
    assert not proof.exists()


@pytest.mark.case("F19")
def test_a_permitted_finding_passes_on_the_retry_and_is_kept_as_evidence(workshop: Workshop) -> None:
    declared = item("P1", edit("a.txt"), edit("src/link", "add"))
    task = workshop.run("os.symlink('x.py', 'src/link'); open('a.txt', 'a').write('x')\n", declared)
    assert workshop.kinds(task) == ["new_symlink"]

    workshop.approve(task, dismiss_all=True, permit=True, reason="a link beside its target is fine here")
    again = workshop.work(task)

    last = workshop.attempts(task)[-1]
    assert again.state is TaskState.in_review
    assert last.evidence["permitted"][0]["kind"] == "new_symlink"
    assert workshop.changed(last.commit or "") == ["M\ta.txt", "A\tsrc/link"]


@pytest.mark.case("F12")
def test_a_decided_task_runs_again_in_a_fresh_workspace(workshop: Workshop) -> None:
    task = workshop.run("turn == 1 and os.symlink('/etc/passwd', 'link')\nopen('a.txt', 'a').write('x')\n")

    workshop.approve(task, accept=(workshop.findings(task)[0].id,), reason="links are not wanted")
    again = workshop.work(task)

    first, second = workshop.allocations(task)
    assert again.state is TaskState.in_review
    assert (first.state, second.state) == ("quarantined", "released")
    assert workshop.show(again.head, "a.txt") == "a\nx"


@pytest.mark.case("X06")
def test_an_agent_that_cannot_be_started_fails_with_a_quoted_reason_and_its_workspace_is_released(
    workshop: Workshop,
) -> None:
    task = workshop.add("")
    agent = workshop.folder / "agent-0.py"
    with workshop.database.connection() as db:
        assert db.execute("SELECT 1").fetchone()
    agent.unlink()

    rested = workshop.work(task)

    assert rested.state is TaskState.needs_human
    assert {attempt.state for attempt in workshop.attempts(task)} == {AttemptState.failed}
    assert {row.state for row in workshop.allocations(task)} == {"released"}


@pytest.mark.case("K07")
def test_the_output_of_a_failed_attempt_is_kept_before_its_workspace_goes(workshop: Workshop) -> None:
    task = workshop.run("open('a.txt', 'a').write('half done'); sys.exit(1)\n", item("P1", edit("a.txt"), retries=0))

    diff = next(output for output in workshop.outputs(task) if output.kind == "diff")
    kept = Path(diff.path)
    assert "+half done" in kept.read_text(encoding="utf-8")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert {row.state for row in workshop.allocations(task)} == {"released"}
