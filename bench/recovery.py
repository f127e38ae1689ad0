"""What a recovery pass over many lost tasks costs, beside the plain statement that moves the same rows."""

import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import psycopg

from bench.contestants import PATIENCE
from bench.places import SCRIPTS, Place
from bench.table import versions
from cli.acts import working
from recovery.passes import recover
from store.engine import open_database
from workspace.disk.roots import open_root
from workspace.results.commits import Identity

SCHEMA: Final = "public"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What a pass took in seconds, the rows it wrote by table, and by how many MiB this process grew at its peak."""

    clock: float
    rows: dict[str, int]
    grown: float


def ours(place: Place) -> None:
    """Make the pass of `tasks recover` in this process, with a root of its own."""
    database = open_database(place.url(), state=Path("/nowhere"), name="bench", patience=PATIENCE)
    with tempfile.TemporaryDirectory(prefix="weighlock-bench-") as folder:
        root = open_root(Path(folder, "root"))
        recover(database, root, actor="bench", identity=Identity(), conclude=working.conclude)
    database.close()


def by_hand(place: Place) -> None:
    """Run the plain statement."""
    with psycopg.connect(place.url(), autocommit=True) as db:
        db.execute((SCRIPTS / "requeue.sql").read_bytes())


def measure(place: Place, *, tasks: int, rounds: int) -> str:
    """Run both in turn, each on as many tasks lost anew, and write the page."""
    taken: dict[str, list[Passed]] = {"recover": [], "by hand, one statement": []}
    for number in range(rounds):
        turn = [("recover", ours), ("by hand, one statement", by_hand)]
        for name, run in turn if number % 2 else reversed(turn):
            taken[name].append(_passed(place, run, tasks))
    return _page(place, taken, tasks=tasks, rounds=rounds)


def _passed(place: Place, run: Callable[[Place], None], tasks: int) -> Passed:
    _lose(place, tasks)
    before, peak = place.written(SCHEMA), _peak()
    began = time.perf_counter()
    run(place)
    clock = time.perf_counter() - began
    after = place.written(SCHEMA)
    rows = {table: after[table] - before.get(table, 0) for table in ("task", "task_event", "attempt", "allocation")}
    if rows["task"] != tasks:
        raise SystemExit(f"of {tasks} lost tasks {rows['task']} were moved")
    return Passed(clock=clock, rows=rows, grown=_peak() - peak)


def _lose(place: Place, tasks: int) -> None:
    place.queue(SCHEMA, tasks)
    with psycopg.connect(place.owner, autocommit=True) as owner:
        owner.execute((SCRIPTS / "lost.sql").read_bytes())
        owner.execute("VACUUM ANALYZE")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _page(place: Place, taken: dict[str, list[Passed]], *, tasks: int, rounds: int) -> str:
    lines = [f"{rounds} passes over {tasks:,} lost tasks each", *versions(place), ""]
    lines += [
        "| who | rows/s | ours : this | seconds | rows written | process grew, MiB |",
        "| - | -: | -: | -: | -: | -: |",
    ]
    best = _rate(taken["recover"])
    for name, passes in taken.items():
        seconds, rate = median(each.clock for each in passes), _rate(passes)
        written, grown = sum(passes[0].rows.values()), max(each.grown for each in passes)
        lines.append(f"| {name} | {rate:,.0f} | {best / rate:.2f} | {seconds:.1f} | {written:,} | {grown:.0f} |")
    return "\n".join(lines)


def _rate(passes: list[Passed]) -> float:
    return median(sum(each.rows.values()) / each.clock for each in passes)
