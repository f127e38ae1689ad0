"""What is wrong with a plan: where, why, and what to do; as many at once as can be seen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statemachine.refusals import Refusal
from statemachine.texts import quote

Where = tuple[str | int, ...]
_SHOWN: Final = 20
_KEPT: Final = 200
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Say what is wrong with one place of a plan; line and column count from 1, where a file was read."""

    where: Where
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None

    @property
    def field(self) -> str:
        """Name the place as a person would: `items[0].files[2].edit`."""
        return "".join(map(_step, self.where)).removeprefix(".")

    def __str__(self) -> str:
        places = [f"line {self.line}" if self.line else "", f"column {self.column}" if self.column else ""]
        place = ", ".join(part for part in places if part)
        return ": ".join(part for part in (place, self.field, self.message) if part)

    def document(self) -> dict[str, object]:
        """Give the problem as a JSON object."""
        return {
            "line": self.line,
            "column": self.column,
            "field": self.field,
            "message": self.message,
            "hint": self.hint,
        }


class PlanInvalid(Refusal):
    """Refuse a plan with every problem seen in it; `facts` has the first one's place and the list."""

    def __init__(self, problems: Sequence[Problem], *, name: str = "the plan") -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(
            "plan_invalid",
            _sentence(self.problems, name),
            hint=first.hint or "correct the plan and check it with `tasks plan check`",
            line=first.line,
            column=first.column,
            field=first.field,
            count=len(self.problems),
            problems=[problem.document() for problem in self.problems[:_KEPT]],
        )


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN.fullmatch(step) else f"[{quote(step, 60)}]"


def _sentence(problems: Sequence[Problem], name: str) -> str:
    if len(problems) == 1:
        return f"{name}: {problems[0]}"
    lines = [f"{name} has {len(problems)} problems", *map(_listed, problems[:_SHOWN])]
    rest = len(problems) - _SHOWN
    return "\n".join([*lines, f"  and {rest} more"] if rest > 0 else lines)


def _listed(problem: Problem) -> str:
    return f"  {problem}" + (f" ({problem.hint})" if problem.hint else "")
