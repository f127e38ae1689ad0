"""What an agent uses up: it is ended, the attempt says why, and whoever shares the disk goes on."""

import os
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from tests.agents import MINUTE
from tests.sandboxes import Box, box
from workspace.agents import cgroups
from workspace.agents.confinement import Confinement
from workspace.agents.limits import Space, kept_by
from workspace.agents.processes import Exit

MEBIBYTE = 1 << 20
FORKS = """
import os, signal
for _ in range(400):
    try:
        if os.fork() == 0:
            signal.pause()
    except OSError:
        pass
signal.pause()
"""
EATS = f"""
held = []
while True:
    held.append(bytearray(8 * {MEBIBYTE}))
    for place in range(0, 8 * {MEBIBYTE}, 4096):
        held[-1][place] = 1
"""


def given() -> bool:
    """Tell whether this host lets us make control groups."""
    return kept_by(Confinement()) == "limits kept by control groups"


@pytest.fixture(params=["groups", "looks"])
def cell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """Make a sandbox whose limits are kept by control groups, where there are any, or without them."""
    if request.param == "looks":
        monkeypatch.setattr(cgroups, "_homes", dict)
    elif not given():
        pytest.skip("this host gives us no control groups")
    return box(tmp_path)


def python(cell: Box, source: str) -> Exit:
    found = cell.start("/usr/bin/env", "python3", "-c", source).wait(MINUTE)
    assert found is not None
    return found


@pytest.mark.case("W21")
def test_an_agent_that_multiplies_is_ended(cell: Box) -> None:
    ended = python(cell.with_(processes=64), FORKS)

    assert ended.broken == "process_limit"
    assert ended.proven_gone


@pytest.mark.case("W21")
def test_an_agent_that_takes_all_memory_is_ended(cell: Box) -> None:
    ended = python(cell.with_(memory=256 * MEBIBYTE), EATS)

    # Without control groups the kernel refuses each process on its own, and the agent fails by itself.
    assert ended.broken == "memory_limit" if given() else ended.code != 0
    assert ended.proven_gone


def test_an_agent_that_keeps_within_its_limits_has_broken_none(cell: Box) -> None:
    ended = cell.run("sh", "-c", "ls >/dev/null; git status --porcelain")

    assert (ended.code, ended.broken) == (0, "")


def test_no_group_outlives_its_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not given():
        pytest.skip("this host gives us no control groups")
    made: list[cgroups.Bounds | None] = []
    bound = cgroups.bound

    def remembered(confinement: Confinement) -> cgroups.Bounds | None:
        made.append(bound(confinement))
        return made[-1]

    monkeypatch.setattr(cgroups, "bound", remembered)

    box(tmp_path).shell("setsid sleep 600 & exit 0")

    (groups,) = made
    assert groups is not None
    assert groups.groups.keys() >= {"pids", "memory"}
    assert [place for place in groups.groups.values() if place.exists()] == []


def test_a_group_of_a_dead_worker_is_swept_away_and_one_of_a_living_worker_stays() -> None:
    if not given():
        pytest.skip("this host gives us no control groups")
    home = cgroups._homes()["pids"]
    dead = home / f"weighlock-{os.getpid()}-1-{uuid4().hex}"
    dead.mkdir()

    ours, other = cgroups.bound(Confinement()), cgroups.bound(Confinement())

    assert ours is not None
    assert other is not None
    assert not dead.exists()
    assert ours.groups["pids"].exists()
    ours.leave()
    other.leave()


def test_groups_that_cannot_be_set_up_are_none_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    monkeypatch.setattr(cgroups, "_homes", lambda: {"pids": tmp_path / "pids", "memory": tmp_path / "none"})

    assert cgroups.bound(Confinement()) is None
    assert list((tmp_path / "pids").iterdir()) == []


@pytest.mark.case("W21", "K06")
def test_an_agent_that_fills_the_disk_is_ended_before_it_is_full(tmp_path: Path) -> None:
    now = os.statvfs(tmp_path)
    least = now.f_bavail * now.f_frsize - 1024 * MEBIBYTE
    share = 0.9 * (now.f_favail / now.f_files if now.f_files else 1)
    if not 0 < least < share * now.f_blocks * now.f_frsize:
        pytest.skip("the disk of this host is too full, or too empty, to play this on it")
    cell = box(tmp_path).with_(min_free=least, min_free_share=share)

    ended = cell.run("sh", "-c", "fallocate -l 2G fill; exec sleep 600")

    (cell.place.folder / "fill").unlink()
    assert (ended.broken, ended.proven_gone) == ("disk_full", True)


@pytest.mark.case("K06")
def test_nothing_is_started_on_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    cell = box(tmp_path, Confinement(min_free=1 << 62, min_free_share=0.9999))

    with pytest.raises(Refusal) as refused:
        cell.run("true")

    assert refused.value.code == "disk_low"
    assert not list(cell.room.glob("output-*"))


@pytest.mark.parametrize("share", [0.0, 0.9999])
def test_the_smaller_of_two_bounds_counts_and_inodes_are_counted_too(tmp_path: Path, share: float) -> None:
    space = Space(tmp_path, Confinement(min_free=0, min_free_share=share))

    assert (space.broken() == "disk_full") is (share > 0 and os.statvfs(tmp_path).f_files > 0)
