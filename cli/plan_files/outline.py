"""What a plan's text says, as a plain document, and where each part of it stands."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from statemachine.plans.problems import Problem, Where

DEEPEST: Final = 50
_MOST_PROBLEMS: Final = 1000
Position = tuple[int, int]


class Unreadable(Exception):  # noqa: N818 - ends the reading of one text; what was noted before it stays
    """Stop reading: what follows would only be noise."""


@dataclass(slots=True)
class Outline:
    """Collect a document, the line and column of each of its parts, and what no plan may have."""

    document: object = None
    positions: dict[Where, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def mark(self, where: Where, position: Position) -> None:
        """Remember where a part stands; the first time counts."""
        self.positions.setdefault(where, position)

    def note(self, where: Where, position: Position, message: str, hint: str) -> None:
        """Note a problem of the text itself."""
        if len(self.problems) >= _MOST_PROBLEMS:
            raise Unreadable
        line, column = position
        self.problems.append(Problem(where=where, message=message, hint=hint, line=line, column=column))

    def stop(self, where: Where, position: Position, message: str, hint: str) -> Unreadable:
        """Note a problem after which nothing can be read."""
        self.note(where, position, message, hint)
        return Unreadable()

    def enter(self, where: Where, position: Position, depth: int) -> None:
        """Start a list or a mapping, if it is not too deep."""
        self.mark(where, position)
        if depth > DEEPEST:
            raise self.stop(where, position, f"is nested more than {DEEPEST} deep", "a plan needs four levels")

    def key(self, where: Where, name: str, position: Position, taken: dict[str, object]) -> Where:
        """Start a field of a mapping; a second one of the same name is noted and read for its problems only."""
        if name in taken:
            first = self.positions.get((*where, name), position)[0]
            hint = f"the first is on line {first}; keep one of them"
            self.note((*where, name), position, "is written twice", hint)
        self.mark((*where, name), position)
        return (*where, name)

    def located(self, problem: Problem) -> Problem:
        """Give a problem the line and column of its place, or of the nearest place around it."""
        if problem.line is not None:
            return problem
        places = (problem.where[:size] for size in range(len(problem.where), -1, -1))
        line, column = next((self.positions[place] for place in places if place in self.positions), (None, None))
        return replace(problem, line=line, column=column)

    def without_echoes(self, problems: Iterable[Problem]) -> list[Problem]:
        """Leave out the problems that only follow from one of the text at the same place."""
        noted = {each.where for each in self.problems}
        return [
            problem
            for problem in problems
            if not any(problem.where[:size] in noted for size in range(1, len(problem.where) + 1))
        ]
