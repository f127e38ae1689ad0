"""Read a plan file, YAML or JSON, and say where it is wrong; all problems at once where that is possible."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.plan_files.from_json import outline_json
from cli.plan_files.from_yaml import outline_yaml
from cli.plan_files.outline import Outline
from cli.plan_files.template import TEMPLATE
from statemachine.plans import (
    Item,
    Plan,
    PlanInvalid,
    Problem,
    read_document,
    writing_problems,
)
from statemachine.refusals import NotFound, Refusal
from statemachine.texts import one_line

__all__ = ["TEMPLATE", "PlanFile", "load_plan", "read_plan"]

LARGEST: Final = 1024 * 1024
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_MOST_CONTROLS: Final = 20


@dataclass(frozen=True, slots=True)
class PlanFile:
    """Hold a plan, and the outline that knows the line of each part of it: `outline.located(problem)`."""

    plan: Plan
    name: str
    outline: Outline


def load_plan(path: Path, *, granted: Collection[Item] = ()) -> PlanFile:
    """Read a plan from disk, never more of it than a plan may have."""
    name = one_line(str(path), 200)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        hint = "write one with `tasks plan init`"
        raise NotFound("plan_not_found", f"there is no plan file {name}", hint=hint, path=name) from None
    except OSError as error:
        message = f"the plan file {name} cannot be read: {error.strerror}"
        raise Refusal("plan_unreadable", message, hint="name a readable file", path=name) from error
    return read_plan(data, name=name, granted=granted)


def read_plan(data: bytes, *, name: str = "the plan", granted: Collection[Item] = ()) -> PlanFile:
    """Read a plan from its bytes; raises `PlanInvalid` with every problem and its line.

    `granted` are items as an earlier revision has them: limits on writing do not apply to those.
    """
    text = _decoded(data, name)
    is_json = name.endswith(".json") or text.lstrip().startswith("{")
    outline = outline_json(text) if is_json else outline_yaml(text)
    if outline.document is None:
        raise _invalid(outline.problems or [_EMPTY], outline, name)
    plan, problems = read_document(outline.document)
    found = outline.without_echoes((*problems, *writing_problems(plan, granted)))
    if outline.problems or found:
        raise _invalid([*outline.problems, *found], outline, name)
    return PlanFile(plan=plan, name=name, outline=outline)


_EMPTY: Final = Problem(
    where=(), message="is empty", hint="`tasks plan init` writes one to start from", line=1, column=1
)


def _decoded(data: bytes, name: str) -> str:
    if len(data) > LARGEST:
        raise PlanInvalid([Problem(where=(), message="is larger than 1 MiB", hint="split the plan")], name=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{data[error.start]:02x}"
        raise PlanInvalid([_at(data[: error.start].decode(), message, "save the file as UTF-8")], name=name) from None
    controls = [match.start() for match in _CONTROLS.finditer(text)][:_MOST_CONTROLS]
    if controls:
        hint = "remove it"
        problems = [_at(text[:at], f"holds the control character U+{ord(text[at]):04X}", hint) for at in controls]
        raise PlanInvalid(problems, name=name)
    return text


def _at(before: str, message: str, hint: str) -> Problem:
    """Place a problem behind the text that stands before it."""
    column = len(before) - before.rfind("\n")
    return Problem(where=(), message=message, hint=hint, line=before.count("\n") + 1, column=column)


def _invalid(problems: Collection[Problem], outline: Outline, name: str) -> PlanInvalid:
    located = [outline.located(problem) for problem in problems]
    return PlanInvalid(sorted(located, key=lambda problem: (problem.line or 0, problem.column or 0)), name=name)
