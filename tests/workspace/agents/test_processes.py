"""Starting, holding, ending one agent."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests.agents import AT_ONCE, MINUTE, Stage, ended, stage
from workspace.agents import proctree
from workspace.agents.processes import Running, alive


@pytest.fixture
def agents(tmp_path: Path) -> Stage:
    return stage(tmp_path)


@pytest.mark.case("S02")
def test_a_held_agent_is_there_and_has_done_nothing(agents: Stage) -> None:
    held = agents.shell("touch ran; echo hello")

    there, done = alive(held.handle), list(agents.tree.iterdir())
    finished = ended(held.let_go())

    assert (there, done) == (True, [])
    assert (finished.code, finished.output.tail) == (0, "hello\n")
    assert (agents.tree / "ran").exists()
    assert not alive(held.handle)


@pytest.mark.case("S02")
def test_an_abandoned_agent_never_ran_and_is_gone(agents: Stage) -> None:
    held = agents.shell("touch ran")
    handle = held.handle

    held.abandon()
    held.abandon()

    assert not alive(handle)
    assert not proctree.same(handle.supervisor, handle.supervisor_started)
    assert list(agents.tree.iterdir()) == []


def test_leaving_the_block_without_letting_go_abandons(agents: Stage) -> None:
    with agents.shell("touch ran") as held:
        assert alive(held.handle)

    assert not alive(held.handle)
    assert list(agents.tree.iterdir()) == []


def test_leaving_the_block_after_letting_go_does_not(agents: Stage) -> None:
    with agents.shell("exit 4") as held:
        running = held.let_go()

    assert ended(running).code == 4


def test_an_agent_is_let_go_once(agents: Stage) -> None:
    held = agents.shell("true")
    held.abandon()

    with pytest.raises(RuntimeError, match="let go or abandoned"):
        held.let_go()


def test_the_exit_code_is_the_agents(agents: Stage) -> None:
    finished = ended(agents.shell("echo bye; exit 3").let_go())

    assert (finished.code, finished.signal, finished.launch_error) == (3, None, None)
    assert (finished.leftovers, finished.timed_out, finished.proven_gone) == ((), False, True)


def test_the_signal_that_ended_the_agent_is_told(agents: Stage) -> None:
    finished = ended(agents.shell("kill -SEGV $$").let_go())

    assert (finished.code, finished.signal) == (None, signal.SIGSEGV)


@pytest.mark.case("X06")
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("no-such-program", "No such file or directory"),
        ("./plain", "Permission denied"),
        ("./lost", "No such file or directory"),
        ("./empty", "Exec format error"),
        ("a\0b", "null"),
    ],
)
def test_a_program_that_cannot_be_executed_is_a_launch_error(agents: Stage, program: str, reason: str) -> None:
    (agents.tree / "plain").write_text("#!/bin/sh\n")
    for name, content in (("lost", "#!/no/such/interpreter\n"), ("empty", "")):
        (agents.tree / name).write_text(content)
        (agents.tree / name).chmod(0o755)

    finished = ended(agents.start(program).let_go())

    assert (finished.code, finished.signal) == (None, None)
    assert reason in (finished.launch_error or "")


@pytest.mark.case("X06")
def test_exit_127_is_not_a_launch_error(agents: Stage) -> None:
    finished = ended(agents.shell("no-such-program").let_go())

    assert (finished.code, finished.launch_error) == (127, None)


@pytest.mark.case("X11")
def test_a_launch_error_is_one_quoted_line(agents: Stage) -> None:
    finished = ended(agents.start("bad\n\x1b[31m\u202ename").let_go())

    assert finished.launch_error is not None
    assert finished.launch_error.isprintable()
    assert r"bad\n\u001b[31m\u202ename" in finished.launch_error


def test_the_agent_gets_exactly_its_environment(agents: Stage) -> None:
    finished = ended(agents.start("env", "-0").let_go())

    given = [f"{name}={value}" for name, value in agents.launch().environment.items()]
    assert sorted(finished.output.path.read_text().strip("\0").split("\0")) == sorted(given)


def test_the_agent_gets_three_descriptors_and_an_empty_input(agents: Stage) -> None:
    finished = ended(agents.shell("cd /proc/self/fd; echo *; readlink 0; cat").let_go())

    assert finished.output.tail.split() == ["0", "1", "2", "3", "/dev/null"]  # 3 is the shell's own, of the listing


def test_the_agent_leads_a_session_of_its_own(agents: Stage) -> None:
    held = agents.shell("echo $$")
    handle = held.handle
    process = proctree.look(handle.pid)
    finished = ended(held.let_go())

    assert process is not None
    assert (process.group, process.session, process.parent) == (handle.pid, handle.pid, handle.supervisor)
    assert handle.group == handle.pid == int(finished.output.tail)


def test_files_of_the_agent_are_private(agents: Stage) -> None:
    ended(agents.shell("echo x > file; mkdir folder").let_go())

    assert [(agents.tree / name).stat().st_mode & 0o777 for name in ("file", "folder")] == [0o600, 0o700]


def test_signals_blocked_or_ignored_by_the_worker_reach_the_agent(agents: Stage) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        finished = ended(agents.shell("grep -E 'Sig(Blk|Ign)' /proc/self/status").let_go())
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGCHLD})

    masks = [int(line.split()[1], 16) for line in finished.output.tail.splitlines()]
    assert len(masks) == 2
    assert not any(mask >> (number - 1) & 1 for mask in masks for number in signal.valid_signals())


def test_no_core_is_dumped_into_the_tree(agents: Stage) -> None:
    finished = ended(agents.shell("ulimit -c").let_go())

    assert finished.output.tail == "0\n"


def test_the_time_limit_ends_the_agent(agents: Stage) -> None:
    running = agents.shell("sleep 600", time_limit=AT_ONCE).let_go()

    finished = ended(running)

    assert (finished.timed_out, finished.code, finished.signal) == (True, None, signal.SIGTERM)
    assert finished.proven_gone


def test_an_agent_within_its_limit_is_not_timed_out(agents: Stage) -> None:
    finished = ended(agents.shell("exit 0", time_limit=MINUTE).let_go())

    assert (finished.timed_out, finished.code) == (False, 0)


def test_waiting_ends_before_the_agent_does(agents: Stage) -> None:
    running = agents.shell('echo $$ > "$SAY"; sleep 600').let_go()
    agents.heard()

    assert running.wait(AT_ONCE) is None
    assert running.stop().signal == signal.SIGTERM


@pytest.mark.case("S03")
def test_a_stopped_agent_keeps_its_exit_code(agents: Stage) -> None:
    running = agents.shell("""trap 'exit 3' TERM; echo $$ > "$SAY"; sleep 600 & wait""").let_go()
    agents.heard()

    finished = running.stop()

    assert (finished.code, finished.signal, finished.timed_out) == (3, None, False)
    assert finished.leftovers == ()


def test_an_agent_that_ignores_the_stop_is_killed(agents: Stage) -> None:
    running = agents.shell("""trap '' TERM; echo $$ > "$SAY"; while :; do sleep 600; done""").let_go()
    agents.heard()

    finished = running.stop(grace=AT_ONCE)

    assert (finished.signal, finished.proven_gone) == (signal.SIGKILL, True)


def test_a_stop_reaches_an_agent_that_stopped_itself(agents: Stage) -> None:
    running = agents.shell("""trap 'exit 5' TERM; echo $$ > "$SAY"; kill -STOP $$""").let_go()
    agents.heard()

    assert running.stop().code == 5


def test_another_thread_may_stop_while_one_waits(agents: Stage) -> None:
    running = agents.shell('echo $$ > "$SAY"; sleep 600').let_go()
    agents.heard()

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(running.wait, MINUTE)
        stopped = running.stop()

    assert waiting.result() is stopped
    assert running.stop() is stopped
    assert running.wait(AT_ONCE) is stopped


def test_the_agent_outlives_the_thread_that_launched_it(agents: Stage) -> None:
    found: list[Running] = []
    thread = threading.Thread(target=lambda: found.append(agents.shell('cat "$SAY"; exit 6').let_go()))
    thread.start()
    thread.join()

    agents.fifo.write_text("go on\n")

    assert ended(found[0]).code == 6


def test_what_the_stop_had_to_kill_after_the_agent_is_a_leftover(agents: Stage) -> None:
    script = """setsid sh -c 'trap "" TERM; echo $$ > "$SAY"; while :; do sleep 600; done' & wait"""
    running = agents.shell(script).let_go()
    (child,) = agents.heard()

    finished = running.stop(grace=AT_ONCE)

    assert finished.signal == signal.SIGTERM
    assert child in {left.pid for left in finished.leftovers}
    assert proctree.look(child) is None


@pytest.fixture
def odd_folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "odd"
    if request.param == "file":
        path.touch()
    elif request.param == "link":
        path.symlink_to(tmp_path)
    return path


@pytest.mark.parametrize(
    ("odd_folder", "code"),
    [("absent", "workspace_missing"), ("file", "workspace_mismatch"), ("link", "workspace_mismatch")],
    indirect=["odd_folder"],
)
def test_a_folder_that_is_none_is_refused(agents: Stage, odd_folder: Path, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        agents.start("true", folder=odd_folder)

    assert refused.value.code == code
    assert not agents.output.exists()


def test_an_output_file_that_exists_is_refused_and_kept(agents: Stage) -> None:
    agents.output.write_text("of somebody else")

    with pytest.raises(Refusal) as refused:
        agents.start("true")

    assert refused.value.code == "launch_failed"
    assert agents.output.read_text() == "of somebody else"


def test_an_environment_that_cannot_be_is_refused(agents: Stage) -> None:
    with pytest.raises(Refusal) as refused:
        agents.start("true", environment={"A": "x\0y"})

    assert refused.value.code == "launch_failed"


def test_a_supervisor_that_cannot_start_is_refused(agents: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(Refusal) as refused:
        agents.start("true")

    assert refused.value.code == "launch_failed"
