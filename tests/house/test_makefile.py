import re
import subprocess
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
TARGETS = {
    "help",
    "setup",
    "demo",
    "test",
    "check",
    "diagram",
    "reference",
    "migration",
    "cases",
    "soak",
    "bench",
    "clean",
}


def make(*arguments: str, folder: Path = HOUSE) -> str:
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_help_is_what_make_says_by_itself_and_lists_every_target() -> None:
    shown = make()

    assert shown == make("help")
    assert {line.split()[1] for line in shown.splitlines()} == TARGETS


def test_a_fresh_clone_sets_itself_up_once(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((HOUSE / name).read_bytes())

    fresh = make("--dry-run", "demo", folder=tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "ready").touch()
    ready = make("--dry-run", "demo", folder=tmp_path)

    assert "-m venv --clear .venv" in fresh
    assert "--constraint constraints.txt" in fresh
    assert fresh.splitlines()[-1] == ready.strip() == ".venv/bin/tasks demo"


@pytest.mark.parametrize(
    "target", ["demo", "test", "check", "cases", "soak", "bench", "diagram", "reference", "migration"]
)
def test_what_needs_the_environment_makes_it_first(target: str, tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((HOUSE / name).read_bytes())

    assert "-m venv" in make("--dry-run", target, folder=tmp_path)


def test_check_is_what_ci_runs() -> None:
    steps = (HOUSE / ".ci" / "run").read_text(encoding="utf-8")

    assert re.findall(r"^ *(make \w+)", steps, re.MULTILINE) == ["make check", "make test", "make soak", "make demo"]
