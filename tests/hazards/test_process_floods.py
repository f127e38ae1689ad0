"""Agents that print without end: nothing of it may be held in memory, and the end of it must be kept."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
GIBIBYTE = 1 << 30
ROOM = 24 * 1024  # KiB: head, tail, a pipe and a chunk, with room to spare; the flood is forty times that

WORKER = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from tests.agents import ended, stage

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

agents = stage(Path(sys.argv[1]))
ended(agents.shell("echo warm", output=agents.folder / "small").let_go())
before = peak()
finished = ended(agents.shell(sys.argv[2]).let_go())
print(json.dumps({**asdict(finished.output), "code": finished.code, "grown": peak() - before}, default=str))
"""


def flooded(folder: Path, script: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", WORKER, folder, script], stdout=subprocess.PIPE, cwd=HERE, check=True)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.case("S17")
@pytest.mark.hazard("H100")
def test_a_gibibyte_without_a_newline_is_capped_in_flat_memory(tmp_path: Path) -> None:
    found = flooded(tmp_path, f"head -c {GIBIBYTE} /dev/zero; printf '\\nlast line\\n'; exit 3")

    kept = (tmp_path / "output").read_bytes()
    assert (found["code"], found["size"], found["truncated"]) == (3, GIBIBYTE + 11, True)
    assert int(str(found["grown"])) < ROOM
    assert found["kept"] == 2 << 20
    assert len(kept) < (2 << 20) + 100
    assert f"\n--- {GIBIBYTE + 11 - (2 << 20)} bytes were left out here ---\n".encode() in kept
    assert kept.endswith(b"\0\nlast line\n")
    assert "\nlast line\n" in str(found["tail"])
    assert "\0" not in str(found["tail"])


@pytest.mark.case("S17")
@pytest.mark.hazard("H100")
def test_all_of_it_is_counted_and_digested(tmp_path: Path) -> None:
    found = flooded(tmp_path, "yes '\u20ac\\' | head -c 50000000")

    expected = ("\u20ac\\\n".encode() * 10_000_000)[:50_000_000]
    assert (found["size"], found["sha256"]) == (len(expected), hashlib.sha256(expected).hexdigest())
    assert int(str(found["grown"])) < ROOM


@pytest.mark.case("S17")
@pytest.mark.hazard("H100")
def test_invalid_text_and_progress_bars_stay_storable(tmp_path: Path) -> None:
    found = flooded(tmp_path, r"printf '\377\376 50%%\r 100%%\r\000done\n'")

    assert str(found["tail"]).startswith("\ufffd\ufffd 50%\r 100%\r\ufffddone\n")
    assert (tmp_path / "output").read_bytes() == b"\xff\xfe 50%\r 100%\r\0done\n"
