"""The plan of a command: a file, or what is piped in; and its problems, told with their lines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.plan_files.reading import LARGEST, PlanFile, load_plan, read_plan
from statemachine.plans import PlanInvalid


def read(name: str) -> PlanFile:
    """Read the plan a person named; `-` is what is piped in."""
    if name == "-":
        return read_plan(sys.stdin.buffer.read(LARGEST + 1), name="the plan on stdin")
    return load_plan(Path(name))


def folder(name: str) -> Path:
    """Name the folder a relative path in this plan is meant from."""
    return Path.cwd() if name == "-" else Path(name).expanduser().absolute().parent


@contextmanager
def located(file: PlanFile) -> Iterator[None]:
    """Give the problems a tree has with a plan the lines of its file."""
    try:
        yield
    except PlanInvalid as invalid:
        problems = [file.outline.located(problem) for problem in invalid.problems]
        raise PlanInvalid(problems, name=file.name) from None
