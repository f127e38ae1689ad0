import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

import statemachine
from cli import main as cli_main

HOUSE = Path(__file__).parents[2]
SETTINGS = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
EVERYWHERE = {"core", "common", "utils", "helpers", "manager", "safety", "runner"}
IN_STATEMACHINE = {"state", "event", "transition", "model", "exceptions", "factory", "registry"}


def modules(package: str) -> dict[str, Path]:
    return {path.stem: path for path in (HOUSE / package).rglob("*.py") if "__pycache__" not in path.parts}


@pytest.mark.parametrize("package", [*PACKAGES, "tests", "migrations", "bench", "examples"])
def test_no_file_or_folder_has_a_name_without_a_purpose(package: str) -> None:
    names = {part for path in modules(package).values() for part in path.relative_to(HOUSE).with_suffix("").parts}

    assert names & EVERYWHERE == set()


def test_no_file_of_statemachine_is_called_as_one_of_the_package_it_must_not_be_mixed_up_with() -> None:
    assert modules("statemachine").keys() & IN_STATEMACHINE == set()


def test_the_marker_the_program_compares_is_the_name_of_the_distribution() -> None:
    assert statemachine.__project__ == distribution("weighlock").name == SETTINGS["project"]["name"]
    assert cli_main.is_ours()


def test_another_package_of_that_import_name_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(statemachine, "__project__")

    assert not cli_main.is_ours()


def test_the_command_is_called_tasks() -> None:
    assert SETTINGS["project"]["scripts"] == {"tasks": "cli.main:main"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_that_it_is_typed_and_what_it_is_for(package: str) -> None:
    first = (HOUSE / package / "__init__.py").read_text(encoding="utf-8").splitlines()[0]

    assert (HOUSE / package / "py.typed").read_bytes() == b""
    assert first.startswith('"""')
