"""Build the wheel from a copy and look at it; then run it where nothing else of the project is."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PACKAGES = ["statemachine", "store", "workspace", "screening", "worker", "recovery", "cli"]
PARTS = [*PACKAGES, "migrations", "pyproject.toml", "README.md", "LICENSE"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with what is installed already, so that no network is needed."""
    folder = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (HOUSE / part).is_dir():
            shutil.copytree(HOUSE / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(HOUSE / part, folder)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"], cwd=folder, check=True, capture_output=True
    )
    (found,) = (folder / "dist").glob("weighlock-*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def files(folder: Path, pattern: str) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_of_every_package_and_nothing_beside_them(unpacked: Path) -> None:
    code = {name for package in PACKAGES for name in files(HOUSE, f"{package}/**/*")}
    migrations = {f"store/{name}" for name in files(HOUSE, "migrations/**/*")}

    shipped = {name for name in files(unpacked, "**/*") if ".dist-info/" not in name}

    assert shipped == code | migrations
    assert {"store/migrations/env.py", "statemachine/py.typed", "cli/main.py"} <= shipped
    assert any(name.startswith("store/sql/") for name in shipped)


def test_the_wheel_carries_its_licence_its_readme_and_its_command(unpacked: Path) -> None:
    (info,) = unpacked.glob("*.dist-info")

    metadata = (info / "METADATA").read_text(encoding="utf-8")
    assert "License-Expression: Apache-2.0" in metadata
    assert (info / "licenses" / "LICENSE").read_bytes() == (HOUSE / "LICENSE").read_bytes()
    assert (HOUSE / "README.md").read_text(encoding="utf-8") in metadata
    assert "tasks = cli.main:main" in (info / "entry_points.txt").read_text()


def test_the_packages_of_the_wheel_run_where_the_source_is_not(unpacked: Path, tmp_path: Path) -> None:
    code = "import sys, cli.main; print(cli.main.__file__); sys.exit(cli.main.main(['--help']))"
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    where, _, shown = done.stdout.partition("\n")
    assert Path(where) == unpacked / "cli" / "main.py"
    assert shown.startswith("Usage: tasks ")
