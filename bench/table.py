"""The page that is printed: versions, one table, and the rows that prove that all did the same."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import quantiles

import psycopg

from bench.places import Place
from bench.rounds import DURABLE, Measured


def page(place: Place, taken: Mapping[str, Sequence[Measured]], *, cycles: int, rounds: int) -> str:
    """Write everything down."""
    lines = [
        f"{rounds} rounds of {cycles} cycles each, one client, {datetime.now(UTC):%Y-%m-%d}",
        *versions(place),
        "",
    ]
    lines += [
        "| commits | who | cycles/s | ours : this | middle half | client CPU per cycle |",
        "| - | - | -: | -: | -: | -: |",
    ]
    for commits, each in taken.items():
        word = "flushed" if commits == DURABLE else "not awaited"
        lines += [_line(word, one, against=each[0]) for one in each]
    lines += ["", "Rows written in one cycle:", "", *_rows(next(iter(taken.values())))]
    return "\n".join(lines)


def _line(commits: str, one: Measured, *, against: Measured) -> str:
    ratios = [(mine.clock / theirs.clock) for mine, theirs in zip(one.rounds, against.rounds, strict=True)]
    low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    spread = "" if one is against else f"{low:.2f}-{high:.2f}"
    ratio = f"{against.rate / one.rate:.2f}"
    return f"| {commits} | {one.contestant.name} | {one.rate:.0f} | {ratio} | {spread} | {one.client * 1e6:.0f} us |"


def _rows(each: Sequence[Measured]) -> list[str]:
    tables = sorted({table for one in each for table in one.rows})
    head = ["| who |", *(f" {table} |" for table in tables), " all |"]
    rule = "| - |" + " -: |" * (len(tables) + 1)
    body = [
        f"| {one.contestant.name} |"
        + "".join(f" {one.rows.get(table, 0):.1f} |" for table in tables)
        + f" {sum(one.rows.values()):.1f} |"
        for one in each
    ]
    return ["".join(head), rule, *body]


def versions(place: Place) -> list[str]:
    """Say what it was measured with."""
    with psycopg.connect(place.owner) as db:
        server = db.info.parameter_status("server_version")
    pgbench = subprocess.run([place.pgbench, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    python = f"Python {platform.python_version()}, psycopg {version('psycopg')} ({psycopg.pq.__impl__})"
    return [f"PostgreSQL {server}, {pgbench}, {python}", f"{os.cpu_count()} processors, {platform.machine()}"]
