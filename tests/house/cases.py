"""List the acceptance cases and hazards that no test names: `python tests/house/cases.py`."""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parents[1]
LISTS: Final = {"case": "cases", "hazard": "hazards"}


def wanted() -> Mapping[str, Mapping[str, str]]:
    """Read the lists: marker to id to sentence."""
    document = tomllib.loads((TESTS / "cases.toml").read_text(encoding="utf-8"))
    return {marker: document[name] for marker, name in LISTS.items()}


def named_in(source: str) -> Iterator[tuple[str, str]]:
    """Find every `pytest.mark.case("A01")` and `pytest.mark.hazard("H01")` of a test file."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr=marker), args=ids) if (
                marker in LISTS
            ):
                yield from (
                    (marker, name.value) for name in ids if isinstance(name, ast.Constant) and type(name.value) is str
                )


def named() -> set[tuple[str, str]]:
    """Find every id that a test names."""
    files = sorted(TESTS.rglob("*.py"))
    return {found for file in files for found in named_in(file.read_text(encoding="utf-8"))}


def main() -> int:
    """Print what is missing and how much is there."""
    have = named()
    for marker, sentences in wanted().items():
        missing = {name: sentence for name, sentence in sentences.items() if (marker, name) not in have}
        for name, sentence in missing.items():
            sys.stdout.write(f"{name:5}{sentence}\n")
        sys.stdout.write(
            f"\n{len(sentences) - len(missing)} of {len(sentences)} {LISTS[marker]} are named by a test.\n\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
