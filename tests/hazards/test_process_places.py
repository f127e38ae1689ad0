"""An agent that runs anywhere but in its own work tree would change somebody else's files."""

from pathlib import Path

import pytest

from tests.agents import Stage, ended, stage
from workspace.agents.processes import Held


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Somebody's own files, which must stay as they are."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


@pytest.fixture
def agents(tmp_path: Path) -> Stage:
    return stage(tmp_path)


@pytest.fixture
def held(agents: Stage) -> Held:
    return agents.start("touch", "ran")


@pytest.mark.hazard("H108")
def test_in_its_own_tree_it_runs(held: Held, agents: Stage) -> None:
    assert ended(held.let_go()).code == 0
    assert (agents.tree / "ran").exists()


@pytest.mark.hazard("H108")
def test_a_tree_replaced_by_a_link_is_not_entered(held: Held, agents: Stage, checkout: Path) -> None:
    agents.tree.rmdir()
    agents.tree.symlink_to(checkout)

    finished = ended(held.let_go())

    assert finished.launch_error is not None
    assert list(checkout.iterdir()) == []


@pytest.mark.hazard("H108")
def test_a_tree_replaced_by_another_folder_is_not_entered(held: Held, agents: Stage, checkout: Path) -> None:
    agents.tree.rename(agents.folder / "moved away")
    checkout.rename(agents.tree)

    finished = ended(held.let_go())

    assert "was replaced" in (finished.launch_error or "")
    assert list(agents.tree.iterdir()) == list((agents.folder / "moved away").iterdir()) == []


@pytest.mark.hazard("H108")
def test_a_tree_made_anew_is_not_entered_even_under_the_old_inode_number(held: Held, agents: Stage) -> None:
    before, numbers = agents.tree.stat().st_ino, set()
    for _ in range(100):  # a file system gives a free number away again at once, or soon
        agents.tree.rmdir()
        agents.tree.mkdir()
        numbers.add(agents.tree.stat().st_ino)

    finished = ended(held.let_go())

    assert before not in numbers
    assert "was replaced" in (finished.launch_error or "")
    assert list(agents.tree.iterdir()) == []


@pytest.mark.hazard("H108")
def test_a_tree_that_is_gone_is_no_reason_to_run_elsewhere(held: Held, agents: Stage) -> None:
    agents.tree.rmdir()

    finished = ended(held.let_go())

    assert finished.launch_error is not None
    assert (finished.code, finished.signal) == (None, None)
    assert sorted(path.name for path in agents.folder.iterdir()) == ["fifo", "output"]


@pytest.mark.hazard("H108")
def test_the_tree_must_be_the_one_that_was_admitted(agents: Stage) -> None:
    seen = agents.tree.stat()

    finished = ended(agents.start("touch", "ran", identity=(seen.st_dev, seen.st_ino + 1)).let_go())

    assert "was replaced" in (finished.launch_error or "")
    assert list(agents.tree.iterdir()) == []
