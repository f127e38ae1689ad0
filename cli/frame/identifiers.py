"""Names of rows as people type them.

`12` is a task; `a-1f09c2` an attempt, `g-` a gate, `w-` an allocation, `m-` a merge.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

import click


class Noun(StrEnum):
    """Say what an identifier names."""

    task = "task"
    finding = "finding"
    attempt = "attempt"
    gate = "gate"
    allocation = "allocation"
    merge = "merge"


LETTERS: Final = {Noun.attempt: "a", Noun.gate: "g", Noun.allocation: "w", Noun.merge: "m"}
SHOWN: Final = 8
"""Hex digits in the short form; six are accepted."""

_NOUNS: Final = {letter: noun for noun, letter in LETTERS.items()}
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_PREFIX: Final = re.compile(r"([agwm])-([0-9a-f-]{6,36})", re.IGNORECASE)
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Number:
    """Name a task or a finding."""

    noun: Noun
    value: int


@dataclass(frozen=True, slots=True)
class Prefix:
    """Name the one row of a noun whose uuid starts with these hex digits."""

    noun: Noun
    digits: str

    @property
    def bounds(self) -> tuple[UUID, UUID]:
        """Give the smallest and the largest uuid that start so."""
        return UUID(hex=self.digits.ljust(32, "0")), UUID(hex=self.digits.ljust(32, "f"))

    def __str__(self) -> str:
        return f"{LETTERS[self.noun]}-{self.digits}"


def parse(text: str, *, digits: Noun = Noun.task) -> Number | Prefix:
    """Read an identifier; all digits name a task, or a finding where the command is about findings."""
    if _NUMBER.fullmatch(text) and 0 < int(text) <= _LARGEST:
        return Number(digits, int(text))
    match = _PREFIX.fullmatch(text)
    found = match[2].replace("-", "").lower() if match else ""
    if match is None or not 6 <= len(found) <= 32:  # noqa: PLR2004 - the shortest prefix, and a whole uuid
        raise ValueError("an id is a number, or one of a- g- w- m- and at least six hex digits")
    return Prefix(_NOUNS[match[1].lower()], found)


def full(noun: Noun, uuid: UUID) -> str:
    """Write the whole name of a row, for JSON."""
    return f"{LETTERS[noun]}-{uuid.hex}"


def short(noun: Noun, uuid: UUID) -> str:
    """Write the name of a row for a person."""
    return f"{LETTERS[noun]}-{uuid.hex[:SHOWN]}"


_NUMBERED: Final = {Noun.task, Noun.finding}


def _a(noun: Noun) -> str:
    return f"{'an' if noun.value.startswith('a') else 'a'} {noun}"


class Id(click.ParamType[Number | Prefix]):
    """Take an identifier of the given nouns on the command line."""

    name = "id"

    def __init__(self, *nouns: Noun) -> None:
        self.nouns = nouns
        self.digits = Noun.finding if Noun.finding in nouns else Noun.task

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Number | Prefix:
        """Read the text of one argument."""
        try:
            found = parse(str(value), digits=self.digits)
        except ValueError as error:
            number = f"a {self.nouns[0]} is named by its number"
            self.fail(f"{value!r}: {number if set(self.nouns) <= _NUMBERED else error}", param, ctx)
        if found.noun not in self.nouns:
            self.fail(f"{value!r} names {_a(found.noun)}; wanted: {' or '.join(self.nouns)}", param, ctx)
        return found
