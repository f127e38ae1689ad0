"""What the tests of the command line share: a command of one's own, in this process or in a fresh one."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import click
import pytest

from cli.commands import Entry
from cli.main import program

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith(("TASKS_", "XDG_", "_TASKS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Callable[[click.Command], None]:
    """Put a command called `probe` into the table for as long as the test runs."""
    module = ModuleType("probe_of_a_test")
    monkeypatch.setitem(sys.modules, "probe_of_a_test", module)

    def put(command: click.Command) -> None:
        vars(module)["probe"] = command
        monkeypatch.setitem(program.entries, "probe", Entry("probe", "probe_of_a_test:probe", "Probe."))

    return put


PROBE = """
import sys
from types import ModuleType
import click
from cli.commands import Entry
from cli.main import main, program
from cli.frame.options import command

{body}

module = ModuleType("probe_of_a_test")
module.probe = probe
sys.modules["probe_of_a_test"] = module
program.entries["probe"] = Entry("probe", "probe_of_a_test:probe", "Probe.")
sys.exit(main())
"""


@pytest.fixture
def fresh(tmp_path: Path) -> Run:
    """Run a command called `probe`, whose source is given, in a process of its own."""

    def run(body: str, *arguments: str, shell: str = "", environment: Mapping[str, str] | None = None) -> object:
        script = tmp_path / "probe.py"
        script.write_text(PROBE.format(body=body))
        line = [sys.executable, str(script), "probe", *arguments]
        if shell:
            line = ["bash", "-c", shell, "bash", *line]
        return subprocess.run(
            line,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
            env={**os.environ, **(environment or {})},
            timeout=60,
        )

    return run  # type: ignore[return-value]
