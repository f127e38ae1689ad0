import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOUSE = Path(__file__).parents[2]
SETTINGS = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
DIRECT = [Requirement(text) for text in (*SETTINGS["project"]["dependencies"], *SETTINGS["dependency-groups"]["dev"])]
LINES = [line for line in (HOUSE / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
PINS = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in LINES)}


def closure(wanted: list[Requirement]) -> set[str]:
    """Follow what is installed from these requirements to everything they need."""
    found: set[str] = set()
    queue = [(requirement.name, frozenset(requirement.extras)) for requirement in wanted]
    seen = set()
    while queue:
        name, extras = queue.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found.add(canonicalize_name(name))
        for text in distribution(name).requires or []:
            needed = Requirement(text)
            if any(needed.marker is None or needed.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
                queue.append((needed.name, frozenset(needed.extras)))
    return found


def test_every_line_is_one_pin_and_no_address() -> None:
    assert [line for line in LINES if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []
    assert len(PINS) == len(LINES)


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_every_direct_dependency_is_pinned_within_its_range(requirement: Requirement) -> None:
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)])


def test_everything_that_gets_installed_is_pinned_and_nothing_else() -> None:
    tools = {"pip", "hatchling", "editables", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}

    assert closure(DIRECT) | tools == PINS.keys() - {"python-statemachine"}


def test_the_package_of_the_same_import_name_cannot_be_installed() -> None:
    assert PINS[canonicalize_name("python-statemachine")] == "0"
    with pytest.raises(PackageNotFoundError):
        distribution("python-statemachine")
