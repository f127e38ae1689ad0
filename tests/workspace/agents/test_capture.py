"""What is kept of an output, and how."""

import hashlib
import os
import resource
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from workspace.agents.capture import Capture, Captured

KIBIBYTE = 1024


def captured(path: Path, *pieces: bytes, head: int = KIBIBYTE, tail: int = KIBIBYTE) -> Captured:
    capture = Capture(path, head=head, tail=tail)
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(capture.inlet, rest) :]
    return capture.finish()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "output"


def test_a_small_output_is_kept_as_it_is(path: Path) -> None:
    found = captured(path, b"one\n", b"two\n")

    assert path.read_bytes() == b"one\ntwo\n"
    assert found == Captured(
        path=path,
        size=8,
        kept=8,
        sha256=hashlib.sha256(b"one\ntwo\n").hexdigest(),
        tail="one\ntwo\n",
        truncated=False,
    )


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 2047, 2048])
def test_what_fits_into_head_and_tail_is_not_marked(path: Path, size: int) -> None:
    content = os.urandom(size)

    found = captured(path, content)

    assert path.read_bytes() == content
    assert (found.truncated, found.kept, found.size) == (False, size, size)


@pytest.mark.parametrize("size", [2049, 100_000, 1_000_000])
def test_the_middle_is_left_out_with_a_mark(path: Path, size: int) -> None:
    content = os.urandom(size)

    found = captured(path, content)

    mark = f"\n--- {size - 2048} bytes were left out here ---\n".encode()
    assert path.read_bytes() == content[:1024] + mark + content[-1024:]
    assert (found.truncated, found.kept, found.size) == (True, 2048, size)
    assert found.sha256 == hashlib.sha256(content).hexdigest()


def test_many_tiny_pieces_are_kept_alike(path: Path) -> None:
    found = captured(path, *(b"%d\n" % number for number in range(5000)))

    assert path.read_bytes().endswith(b"4998\n4999\n")
    assert found.tail.endswith("4998\n4999\n")


def test_the_beginning_can_be_read_while_it_grows(path: Path) -> None:
    capture = Capture(path, head=KIBIBYTE)
    os.write(capture.inlet, b"early\n")
    os.set_blocking(capture.inlet, False)

    with path.open("rb") as file:
        while not (seen := file.read()):
            os.sched_yield()

    assert seen == b"early\n"
    capture.finish()


def test_only_the_owner_may_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        captured(path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_or_link_in_its_place_is_refused(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FileExistsError):
        Capture(path)

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.case("S16")
def test_somebody_who_holds_the_other_end_is_not_waited_for(path: Path) -> None:
    capture = Capture(path)
    holder = os.dup(capture.inlet)
    os.write(holder, b"first\nlast line")

    found = capture.finish()

    assert found.tail == "first\nlast line"
    os.close(holder)


@pytest.mark.case("S16")
def test_somebody_who_goes_on_writing_is_not_waited_for(path: Path) -> None:
    capture = Capture(path)
    with subprocess.Popen(["yes"], stdout=capture.inlet) as writer:
        found = capture.finish()

    assert writer.returncode == -signal.SIGPIPE  # nobody reads any more
    assert set(found.tail) <= {"y", "\n"}


@pytest.mark.case("S17")
def test_the_tail_is_text_that_any_column_takes(path: Path) -> None:
    found = captured(path, b"\xff\xfe nul \0 cut \xe2\x82", b"\nlast line\n")

    assert "\0" not in found.tail
    found.tail.encode()
    assert "nul \ufffd cut \ufffd\nlast line\n" in found.tail
    assert path.read_bytes() == b"\xff\xfe nul \0 cut \xe2\x82\nlast line\n"


@pytest.mark.case("S17")
def test_the_last_line_survives_a_tail_full_of_nul(path: Path) -> None:
    found = captured(path, b"\0" * 100_000, b"\nlast line\n")

    assert "\nlast line\n" in found.tail
    assert len(found.tail) <= 4_000


def test_the_tail_does_not_begin_within_a_character(path: Path) -> None:
    found = captured(path, "\u20ac".encode() * 100_000, head=0, tail=100_000)

    assert set(found.tail) == {"\u20ac"}


def test_a_disk_that_takes_no_more_is_told_and_the_agent_is_still_read(path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, limit[1]))
    try:
        found = captured(path, b"a" * 500, b"b" * 500, b"c" * 500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)

    assert found.error == "File too large"
    assert (found.size, found.kept, found.truncated) == (1500, 700, True)
    assert found.tail.endswith("ccc")
