"""What an agent behind the sandbox's walls tries; each try works with the one wall taken down that keeps it in."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.sandboxes import Box, as_the_worker, box, opened, without
from workspace.agents import inside

pytestmark = pytest.mark.case("W18")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make somebody else of itself, or fail to")
WALL = pytest.mark.parametrize("wall", ["up", "down"])
TRY = "&& echo BREACH || echo held"


@pytest.fixture
def cell(tmp_path: Path) -> Box:
    return box(tmp_path)


@pytest.fixture
def outside() -> Iterator[Path]:
    """Make a folder that anybody on this host may read and write."""
    place = Path(f"/var/tmp/weighlock-outside-{uuid4().hex}")
    place.mkdir()
    place.chmod(0o777)
    (place / "diary").write_text("BREACH\n")
    yield place
    for each in place.iterdir():
        each.unlink()
    place.rmdir()


def tries(cell: Box, script: str) -> bool:
    return "BREACH" in cell.shell(f"( {script} ) 2>/dev/null {TRY}")


def python(source: str) -> str:
    return f"/usr/bin/env python3 -c '{source}'"


@pytest.mark.hazard("H111")
@WALL
def test_the_environment_of_the_first_process(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":  # a launcher that has it, and a sandbox that is told to hide it
        without(monkeypatch, "--new-session", instead=("--new-session", "--unsetenv", "DIARY"))
        cell = Box(cell.executor, cell.place, cell.room, {"DIARY": "hunter2"})
    monkeypatch.setenv("DIARY", "hunter2")

    assert tries(cell, "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep hunter2") is (wall == "down")


@WALL
def test_a_mount_over_the_systems_folders(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--disable-userns", "--cap-drop", "ALL", instead=("--cap-add", "ALL"))

    # Making mounts read-write again fails even then: they belong to a user namespace above the agent's.
    own = "ctypes.CDLL(None).unshare(0x20000)"
    over = 'ctypes.CDLL(None).mount(b"none", b"/usr", b"tmpfs", 0, None)'
    assert tries(cell, python(f"import ctypes, sys; sys.exit({own} or {over})")) is (wall == "down")


@ROOT
@WALL
def test_a_setting_of_the_kernel(cell: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        as_the_worker(monkeypatch)
        (tmp_path / "root's").mkdir()
        cell = box(tmp_path / "root's")
    same = 'value=$(cat /proc/sys/kernel/core_pattern); printf %s "$value" > /proc/sys/kernel/core_pattern'

    assert tries(cell, same) is (wall == "down")


@WALL
def test_the_control_groups(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--proc", "/proc", instead=("--proc", "/proc", "--ro-bind", "/sys", "/sys"))

    assert tries(cell, "test -e /sys/fs/cgroup") is (wall == "down")


@WALL
@pytest.mark.parametrize("place", ["owner", "repositories", "attempts/other/prompt.md", "workspaces/other/secret"])
def test_the_root_and_the_work_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, wall: str
) -> None:
    if wall == "down":  # two walls: what is not shown, and another user, who could not read it if it were
        as_the_worker(monkeypatch)
    cell = box(tmp_path)
    root = cell.place.root
    for folder in (root.attempts / "other", root.workspaces / "other"):
        folder.mkdir()
        (folder / "prompt.md").touch()
        (folder / "secret").touch()
    if wall == "down":
        opened(monkeypatch, root.path)

    assert tries(cell, f"ls -d {root.path / place}") is (wall == "down")


@WALL
def test_a_file_of_this_host_that_anybody_may_read(
    cell: Box, outside: Path, monkeypatch: pytest.MonkeyPatch, wall: str
) -> None:
    if wall == "down":
        opened(monkeypatch, outside)

    assert tries(cell, f"cat {outside}/diary") is (wall == "down")


@WALL
def test_a_folder_of_its_own_beside_those_with_a_size(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--remount-ro", "/")

    assert tries(cell, "mkdir /hoard") is (wall == "down")


@WALL
def test_the_databases_socket(cell: Box, outside: Path, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(outside / "server"))
        (outside / "server").chmod(0o777)
        server.listen()
        if wall == "down":
            opened(monkeypatch, outside)

        assert tries(cell, python(f'import socket; socket.socket(socket.AF_UNIX).connect("{outside}/server")')) is (
            wall == "down"
        )


@WALL
@pytest.mark.parametrize("address", ["port", "abstract"])
def test_a_port_and_a_name_of_the_host(cell: Box, monkeypatch: pytest.MonkeyPatch, address: str, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--new-session", instead=("--share-net", "--new-session"))
    family = socket.AF_INET if address == "port" else socket.AF_UNIX
    with socket.socket(family) as server:
        server.bind(("127.0.0.1", 0) if address == "port" else f"\0x{uuid4().hex}")
        server.listen()
        name = server.getsockname()
        where = f'("{name[0]}", {name[1]})' if address == "port" else f'"\\0{name[1:].decode()}"'
        kind = "AF_INET" if address == "port" else "AF_UNIX"

        assert tries(cell, python(f"import socket; socket.socket(socket.{kind}).connect({where})")) is (wall == "down")


@WALL
def test_a_question_to_a_name_server(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--new-session", instead=("--share-net", "--new-session"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        answered = threading.Thread(target=_answer, args=(server,))
        answered.start()
        ask = f's.sendto(b"q", ("127.0.0.1", {server.getsockname()[1]})); s.settimeout(5); s.recv(9)'

        heard = tries(cell, python(f"import socket; s = socket.socket(type=socket.SOCK_DGRAM); {ask}"))

        with socket.socket(type=socket.SOCK_DGRAM) as enough:
            enough.sendto(b"enough", server.getsockname())
        answered.join()
    assert heard is (wall == "down")


def _answer(server: socket.socket) -> None:
    """Answer questions until it is enough."""
    asked = b""
    while asked != b"enough":
        asked, who = server.recvfrom(9)
        server.sendto(asked, who)


@WALL
def test_a_user_namespace_of_its_own(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--disable-userns")

    assert tries(cell, "unshare --user true") is (wall == "down")


@WALL
def test_the_processes_of_this_host(cell: Box, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    if wall == "down":
        without(monkeypatch, "--proc", "/proc", instead=("--ro-bind", "/proc", "/proc"))

    assert tries(cell, f"grep -q . /proc/{os.getpid()}/cmdline") is (wall == "down")


@WALL
def test_a_look_into_the_agents_own_parent(
    cell: Box, outside: Path, monkeypatch: pytest.MonkeyPatch, wall: str
) -> None:
    if wall == "down":
        weaker = outside / "inside.py"
        weaker.write_text(
            Path(inside.__file__).read_text().replace("prctl(_SET_DUMPABLE, 0,", "prctl(_SET_DUMPABLE, 1,")
        )
        monkeypatch.setattr(inside, "__file__", str(weaker))

    assert tries(cell, "ls /proc/$PPID/fd") is (wall == "down")
