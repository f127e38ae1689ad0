"""Fail points: every name is reached in the function the table names, and costs nothing where nobody asks for it."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from statemachine import failpoints
from statemachine.failpoints import POINTS, VARIABLE, armed
from statemachine.refusals import Refusal

ROOT = Path(__file__).parents[2]
FLOORS = ("statemachine", "store", "workspace", "screening", "worker", "recovery", "cli")
PROGRAM = "from statemachine.failpoints import reach; reach('admitted'); reach('settled'); print('went on')"


def reached() -> Iterator[tuple[str, str]]:
    """List every point the product reaches, with the function it stands in."""
    for file in sorted(file for floor in FLOORS for file in (ROOT / floor).rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        yield from _in(ast.parse(file.read_text(encoding="utf-8")), module)


def _in(node: ast.AST, place: str) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Call(func=ast.Name("reach"), args=[ast.Constant(str(name))]):
                yield name, place
            case ast.Call(func=ast.Name("reach")):
                yield "not a plain name", place
        yield from _in(child, f"{place}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else place)


def run(order: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, VARIABLE: order}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_every_point_is_reached_once_and_where_the_table_says() -> None:
    found = sorted(reached())

    assert found == sorted(POINTS.items())


def test_without_an_order_a_point_does_nothing() -> None:
    assert failpoints.reach is failpoints._nothing


def test_the_process_that_gets_to_an_armed_point_is_killed_there() -> None:
    killed = run("settled")
    passed = run("committed")

    assert (killed.returncode, killed.stdout) == (-9, "")
    assert (passed.returncode, passed.stdout) == (0, "went on\n")


@pytest.mark.parametrize("order", ["setled", "settled:explode", "settled:pause", ":kill", "settled,nowhere:stop"])
def test_an_order_nobody_can_follow_is_refused_loudly(order: str) -> None:
    with pytest.raises(Refusal) as refused:
        armed(order)

    ran = run(order)

    assert refused.value.code == "fail_point_unknown"
    assert (ran.returncode, ran.stdout) == (1, "")
    assert VARIABLE in ran.stderr
