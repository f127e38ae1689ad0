"""Starting, holding, ending one agent."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from workspace import proctree
from workspace.processes import Exit, Held, Launch, Running, alive, start

MINUTE = timedelta(minutes=1)
AT_ONCE = timedelta(milliseconds=50)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A pipe with a name, by which an agent says how far it is."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture
def launch(tree: Path, tmp_path: Path, fifo: Path) -> Launch:
    return Launch(
        argv=("true",),
        folder=tree,
        environment={"PATH": os.environ["PATH"], "TASKS_ATTEMPT": str(uuid4()), "SAY": str(fifo)},
        output=tmp_path / "output",
    )


def shell(launch: Launch, script: str, time_limit: timedelta | None = None) -> Held:
    return start(replaced(launch, argv=("sh", "-c", script), time_limit=time_limit))


def replaced(launch: Launch, **changes: object) -> Launch:
    fields = {name: getattr(launch, name) for name in Launch.__slots__}
    return Launch(**{**fields, **changes})


def ended(running: Running) -> Exit:
    found = running.wait(MINUTE)
    assert found is not None
    return found


def heard(fifo: Path) -> str:
    """Wait until the agent has said something."""
    return fifo.read_text().strip()


@pytest.mark.case("S02")
def test_a_held_agent_is_there_and_has_done_nothing(launch: Launch, tree: Path) -> None:
    held = shell(launch, "touch ran; echo hello")

    there, done = alive(held.handle), list(tree.iterdir())
    finished = ended(held.let_go())

    assert (there, done) == (True, [])
    assert (finished.code, finished.output.tail) == (0, "hello\n")
    assert (tree / "ran").exists()
    assert not alive(held.handle)


@pytest.mark.case("S02")
def test_an_abandoned_agent_never_ran_and_is_gone(launch: Launch, tree: Path) -> None:
    held = shell(launch, "touch ran")
    handle = held.handle

    held.abandon()
    held.abandon()

    assert not alive(handle)
    assert not proctree.same(handle.supervisor, handle.supervisor_started)
    assert list(tree.iterdir()) == []


def test_leaving_the_block_without_letting_go_abandons(launch: Launch, tree: Path) -> None:
    with shell(launch, "touch ran") as held:
        assert alive(held.handle)

    assert not alive(held.handle)
    assert list(tree.iterdir()) == []


def test_leaving_the_block_after_letting_go_does_not(launch: Launch) -> None:
    with shell(launch, "exit 4") as held:
        running = held.let_go()

    assert ended(running).code == 4


def test_an_agent_is_let_go_once(launch: Launch) -> None:
    held = shell(launch, "true")
    held.abandon()

    with pytest.raises(RuntimeError, match="let go or abandoned"):
        held.let_go()


def test_the_exit_code_is_the_agents(launch: Launch) -> None:
    finished = ended(shell(launch, "echo bye; exit 3").let_go())

    assert (finished.code, finished.signal, finished.launch_error) == (3, None, None)
    assert (finished.leftovers, finished.timed_out, finished.proven_gone) == ((), False, True)


def test_the_signal_that_ended_the_agent_is_told(launch: Launch) -> None:
    finished = ended(shell(launch, "kill -SEGV $$").let_go())

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
def test_a_program_that_cannot_be_executed_is_a_launch_error(
    launch: Launch, tree: Path, program: str, reason: str
) -> None:
    (tree / "plain").write_text("#!/bin/sh\n")
    for name, content in (("lost", "#!/no/such/interpreter\n"), ("empty", "")):
        (tree / name).write_text(content)
        (tree / name).chmod(0o755)

    finished = ended(start(replaced(launch, argv=(program,))).let_go())

    assert (finished.code, finished.signal) == (None, None)
    assert reason in (finished.launch_error or "")


@pytest.mark.case("X06")
def test_exit_127_is_not_a_launch_error(launch: Launch) -> None:
    finished = ended(shell(launch, "no-such-program").let_go())

    assert (finished.code, finished.launch_error) == (127, None)


@pytest.mark.case("X11")
def test_a_launch_error_is_one_quoted_line(launch: Launch) -> None:
    finished = ended(start(replaced(launch, argv=("bad\n\x1b[31m\u202ename",))).let_go())

    assert finished.launch_error is not None
    assert finished.launch_error.isprintable()
    assert r"bad\n\u001b[31m\u202ename" in finished.launch_error


def test_the_agent_gets_exactly_its_environment(launch: Launch) -> None:
    finished = ended(start(replaced(launch, argv=("env", "-0"))).let_go())

    given = [f"{name}={value}" for name, value in launch.environment.items()]
    assert sorted(finished.output.path.read_text().strip("\0").split("\0")) == sorted(given)


def test_the_agent_gets_three_descriptors_and_an_empty_input(launch: Launch) -> None:
    finished = ended(shell(launch, "cd /proc/self/fd; echo *; readlink 0; cat").let_go())

    assert finished.output.tail.split() == ["0", "1", "2", "3", "/dev/null"]  # 3 is the shell's own, of the listing


def test_the_agent_leads_a_session_of_its_own(launch: Launch) -> None:
    held = shell(launch, "echo $$")
    handle = held.handle
    process = proctree.look(handle.pid)
    finished = ended(held.let_go())

    assert process is not None
    assert (process.group, process.session, process.parent) == (handle.pid, handle.pid, handle.supervisor)
    assert handle.group == handle.pid == int(finished.output.tail)


def test_files_of_the_agent_are_private(launch: Launch, tree: Path) -> None:
    ended(shell(launch, "echo x > file; mkdir folder").let_go())

    assert [(tree / name).stat().st_mode & 0o777 for name in ("file", "folder")] == [0o600, 0o700]


def test_signals_blocked_or_ignored_by_the_worker_reach_the_agent(launch: Launch) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        finished = ended(shell(launch, "grep -E 'Sig(Blk|Ign)' /proc/self/status").let_go())
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGCHLD})

    assert {line.split()[1] for line in finished.output.tail.splitlines()} == {"0" * 16}


def test_no_core_is_dumped_into_the_tree(launch: Launch) -> None:
    finished = ended(shell(launch, "ulimit -c").let_go())

    assert finished.output.tail == "0\n"


def test_the_time_limit_ends_the_agent(launch: Launch) -> None:
    running = shell(launch, "sleep 600", time_limit=AT_ONCE).let_go()

    finished = ended(running)

    assert (finished.timed_out, finished.code, finished.signal) == (True, None, signal.SIGTERM)
    assert finished.proven_gone


def test_an_agent_within_its_limit_is_not_timed_out(launch: Launch) -> None:
    finished = ended(shell(launch, "exit 0", time_limit=MINUTE).let_go())

    assert (finished.timed_out, finished.code) == (False, 0)


def test_waiting_ends_before_the_agent_does(launch: Launch, fifo: Path) -> None:
    running = shell(launch, 'echo here > "$SAY"; sleep 600').let_go()
    heard(fifo)

    assert running.wait(AT_ONCE) is None
    assert running.stop().signal == signal.SIGTERM


@pytest.mark.case("S03")
def test_a_stopped_agent_keeps_its_exit_code(launch: Launch, fifo: Path) -> None:
    running = shell(launch, """trap 'exit 3' TERM; echo here > "$SAY"; sleep 600 & wait""").let_go()
    heard(fifo)

    finished = running.stop()

    assert (finished.code, finished.signal, finished.timed_out) == (3, None, False)
    assert finished.leftovers == ()


def test_an_agent_that_ignores_the_stop_is_killed(launch: Launch, fifo: Path) -> None:
    running = shell(launch, """trap '' TERM; echo here > "$SAY"; while :; do sleep 600; done""").let_go()
    heard(fifo)

    finished = running.stop(grace=AT_ONCE)

    assert (finished.signal, finished.proven_gone) == (signal.SIGKILL, True)


def test_a_stop_reaches_an_agent_that_stopped_itself(launch: Launch, fifo: Path) -> None:
    running = shell(launch, """trap 'exit 5' TERM; echo here > "$SAY"; kill -STOP $$""").let_go()
    heard(fifo)

    assert running.stop().code == 5


def test_another_thread_may_stop_while_one_waits(launch: Launch, fifo: Path) -> None:
    running = shell(launch, 'echo here > "$SAY"; sleep 600').let_go()
    heard(fifo)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(running.wait, MINUTE)
        stopped = running.stop()

    assert waiting.result() is stopped
    assert running.stop() is stopped
    assert running.wait(AT_ONCE) is stopped


def test_the_agent_outlives_the_thread_that_launched_it(launch: Launch, fifo: Path) -> None:
    found: list[Running] = []
    thread = threading.Thread(target=lambda: found.append(shell(launch, 'cat "$SAY"; exit 6').let_go()))
    thread.start()
    thread.join()

    fifo.write_text("go on\n")

    assert ended(found[0]).code == 6


def test_what_the_stop_had_to_kill_after_the_agent_is_a_leftover(launch: Launch, fifo: Path) -> None:
    script = """setsid sh -c 'trap "" TERM; echo $$ > "$SAY"; while :; do sleep 600; done' & wait"""
    running = shell(launch, script).let_go()
    child = int(heard(fifo))

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
def test_a_folder_that_is_none_is_refused(launch: Launch, odd_folder: Path, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        start(replaced(launch, folder=odd_folder))

    assert refused.value.code == code
    assert not launch.output.exists()


def test_an_output_file_that_exists_is_refused_and_kept(launch: Launch) -> None:
    launch.output.write_text("of somebody else")

    with pytest.raises(Refusal) as refused:
        start(launch)

    assert refused.value.code == "launch_failed"
    assert launch.output.read_text() == "of somebody else"


def test_an_environment_that_cannot_be_is_refused(launch: Launch) -> None:
    with pytest.raises(Refusal) as refused:
        start(replaced(launch, environment={"A": "x\0y"}))

    assert refused.value.code == "launch_failed"


def test_a_supervisor_that_cannot_start_is_refused(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(Refusal) as refused:
        start(launch)

    assert refused.value.code == "launch_failed"
