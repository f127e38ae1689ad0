"""Agents that print without end, beneath a worker that is a process of its own: it stays small, and the end is kept."""

import hashlib
import os
from pathlib import Path

import pytest

from statemachine.attempts import AttemptState
from statemachine.tasks import TaskState
from store import interventions
from store.tasks import Task
from tests.workshop import Workshop

# No newline anywhere, zero bytes, and nothing that is UTF-8.
CHUNK = (b"\0\xff\xfe\xc3(" * 210_000)[: 1 << 20]
GIBIBYTE = 1 << 30
END = b"\xe2\x82 last words \x1b[31m\0"
FLOOD = f"""
chunk = (b"\\0\\xff\\xfe\\xc3(" * 210_000)[: 1 << 20]
for _ in range({GIBIBYTE >> 20}):
    sys.stdout.buffer.write(chunk)
sys.stdout.buffer.write({END!r})
sys.stdout.flush()
"""
SILENT = "open('a.txt', 'a').write('x')\n"
ROOM = 24 << 10  # KiB: head, tail, a pipe and a chunk, with room to spare; the flood is forty times that


def peak(pid: int) -> int:
    """Read how much memory a process ever had, in KiB."""
    return int(Path(f"/proc/{pid}/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0])


def log(workshop: Workshop, task: Task) -> bytes:
    (attempt,) = workshop.attempts(task)
    return (workshop.root.attempts / str(attempt.id) / "output.log").read_bytes()


@pytest.mark.case("S17")
def test_a_gibibyte_of_output_takes_a_worker_no_more_memory_than_silence(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKS_SLOTS", "1")
    os.mkfifo(workshop.folder / "go")
    go = os.open(workshop.folder / "go", os.O_RDWR)
    workshop.add(SILENT)
    loud = workshop.add(f"ring(); open({str(workshop.folder / 'go')!r}).read(1)\n{FLOOD}{SILENT}")
    workshop.add(f"ring()\n{SILENT}")

    with workshop.serving() as worker:
        workshop.heard()
        silent = peak(worker.pid)
        os.write(go, b"!")
        workshop.heard()
        grown = peak(worker.pid) - silent
    os.close(go)

    assert grown < ROOM
    assert workshop.look(loud).state is TaskState.in_review
    kept = log(workshop, loud)
    whole = GIBIBYTE + len(END)
    assert kept[: 1 << 20] == CHUNK
    assert kept.endswith(CHUNK[-100:] + END)
    assert f"\n--- {whole - (2 << 20)} bytes were left out here ---\n".encode() in kept
    assert len(kept) < (2 << 20) + 100
    (output,) = workshop.outputs(loud)
    assert (output.size, output.truncated, output.sha256) == (whole, True, digest())
    assert len(output.tail) <= 4_000
    assert "\0" not in output.tail
    assert " last words \x1b[31m" in output.tail


def digest() -> str:
    sha256 = hashlib.sha256()
    for _ in range(GIBIBYTE >> 20):
        sha256.update(CHUNK)
    sha256.update(END)
    return sha256.hexdigest()


@pytest.mark.case("S17")
def test_an_agent_that_never_ends_to_print_can_be_stopped_and_its_last_words_are_kept(workshop: Workshop) -> None:
    task = workshop.add(
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('stopped'))\n"
        "ring()\n"
        "while True: os.write(1, b'\\0\\xff' * 30_000)\n"
    )

    with workshop.serving():
        workshop.heard()
        with workshop.database.transaction() as db:
            interventions.stop(db, task.id, actor="rev")

    (attempt,) = workshop.attempts(task)
    assert (attempt.state, attempt.exit_code) == (AttemptState.cancelled, 1)
    assert log(workshop, task).endswith(b"stopped\n")
    assert len(log(workshop, task)) < (2 << 20) + 100
