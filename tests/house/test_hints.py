"""Every command a sentence of the product tells a person to type exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import COMMANDS, Entry

ROOT = Path(__file__).parents[2]
FLOORS = ("statemachine", "store", "workspace", "screening", "worker", "recovery", "cli")
SAID = re.compile(r"\btasks ([a-z]+)(?: ([a-z]+))?")
# What follows the word in sentences that are about tasks and name no command.
PROSE = {"a", "and", "command", "are", "at", "older", "that", "by", "in", "of", "with", "to", "whose"}


def known() -> set[str]:
    words: set[str] = set()
    for each in COMMANDS:
        words |= {each.name} if isinstance(each, Entry) else {f"{each.name} {entry.name}" for entry in each.entries}
    return words


def said() -> Iterator[tuple[str, str]]:
    for floor in FLOORS:
        for file in sorted((ROOT / floor).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                    for found in SAID.finditer(node.value):
                        yield str(file.relative_to(ROOT)), found[0]


@pytest.mark.case("C02")
def test_every_command_that_is_named_can_be_typed() -> None:
    commands = known()
    families = {command.split()[0] for command in commands if " " in command}

    wrong = {
        (file, text)
        for file, text in said()
        if (words := text.split()[1:])[0] not in PROSE
        and not (words[0] in commands or (words[0] in families and (len(words) == 1 or " ".join(words) in commands)))
    }

    assert wrong == set()
