"""An agent that runs anywhere but in its own work tree would change somebody else's files."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from workspace.processes import Exit, Held, Launch, start

MINUTE = timedelta(minutes=1)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Somebody's own files, which must stay as they are."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


@pytest.fixture
def held(tmp_path: Path) -> Held:
    (tmp_path / "tree").mkdir()
    launch = Launch(
        argv=("touch", "ran"),
        folder=tmp_path / "tree",
        environment={"PATH": os.environ["PATH"]},
        output=tmp_path / "output",
    )
    return start(launch)


def ended(held: Held) -> Exit:
    finished = held.let_go().wait(MINUTE)
    assert finished is not None
    return finished


@pytest.mark.hazard("H108")
def test_in_its_own_tree_it_runs(held: Held, tmp_path: Path) -> None:
    assert ended(held).code == 0
    assert (tmp_path / "tree" / "ran").exists()


@pytest.mark.hazard("H108")
def test_a_tree_replaced_by_a_link_is_not_entered(held: Held, tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "tree").rmdir()
    (tmp_path / "tree").symlink_to(checkout)

    finished = ended(held)

    assert finished.launch_error is not None
    assert list(checkout.iterdir()) == []


@pytest.mark.hazard("H108")
def test_a_tree_replaced_by_another_folder_is_not_entered(held: Held, tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "tree").rename(tmp_path / "moved away")
    checkout.rename(tmp_path / "tree")

    finished = ended(held)

    assert "was replaced" in (finished.launch_error or "")
    assert list((tmp_path / "tree").iterdir()) == list((tmp_path / "moved away").iterdir()) == []


@pytest.mark.hazard("H108")
def test_a_tree_made_anew_is_not_entered_even_under_the_old_inode_number(held: Held, tmp_path: Path) -> None:
    (tmp_path / "tree").rmdir()
    (tmp_path / "tree").mkdir()

    finished = ended(held)

    assert "was replaced" in (finished.launch_error or "")
    assert list((tmp_path / "tree").iterdir()) == []


@pytest.mark.hazard("H108")
def test_a_tree_that_is_gone_is_no_reason_to_run_elsewhere(held: Held, tmp_path: Path) -> None:
    (tmp_path / "tree").rmdir()

    finished = ended(held)

    assert finished.launch_error is not None
    assert (finished.code, finished.signal) == (None, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["output"]


@pytest.mark.hazard("H108")
def test_the_tree_must_be_the_one_that_was_admitted(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    seen = (tmp_path / "tree").stat()
    launch = Launch(
        argv=("touch", "ran"),
        folder=tmp_path / "tree",
        environment={"PATH": os.environ["PATH"]},
        output=tmp_path / "output",
        identity=(seen.st_dev, seen.st_ino + 1),
    )

    finished = ended(start(launch))

    assert "was replaced" in (finished.launch_error or "")
    assert list((tmp_path / "tree").iterdir()) == []
