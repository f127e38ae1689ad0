import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workspace.agents.prompts import Declared
from workspace.agents.prompts import prompt as write

HOUSE = Path(__file__).parents[2]


def test_the_smallest_agent_edits_what_it_was_told_to(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    operations: list[Declared] = [("edit", "README.md", None), ("add", "docs/new.md", None), ("delete", "old.md", None)]
    operations += [("edit", "src/", None), ("add", "src/**", None), ("rename", "new.md", "old.md")]
    prompt.write_text(write(title="Say more", intent="- edit\n- add tests\n", operations=operations, checks=["pytest"]))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "README.md").write_text("first\n")
    environment = {"TASKS_PROMPT_FILE": str(prompt), "TASKS_ITEM": "P1", "TASKS_TASK": "7", "PATH": os.environ["PATH"]}

    done = subprocess.run(
        [sys.executable, str(HOUSE / "examples" / "agent.py")],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "working on item P1 of task 7\nwrote README.md\nwrote docs/new.md\n"
    assert (tree / "README.md").read_text() == "first\nA line from the smallest agent.\n"
    assert sorted(str(path.relative_to(tree)) for path in tree.rglob("*")) == ["README.md", "docs", "docs/new.md"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here to ask")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = (HOUSE / "examples" / "weighlock.service").read_text().replace("/usr/local/bin/tasks", "/bin/true")
    file = tmp_path / "weighlock.service"
    file.write_text(unit)

    done = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)

    assert (done.returncode, [line for line in done.stderr.splitlines() if "weighlock" in line]) == (0, [])
