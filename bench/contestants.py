"""Who runs: ours, the same rows by hand on the same schema, the same rows by hand on bare tables."""

import re
import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from bench.ours import Worker
from bench.places import BARE, SCRIPTS, Place
from store.engine import open_database

PATIENCE: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a number of cycles took: by the clock, and of the client's processor, in seconds."""

    clock: float
    client: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A way to run cycles, and the schema it runs them on."""

    name: str
    schema: str
    run: Callable[[Place, int, str], Taken]


def ours(place: Place, cycles: int, commits: str) -> Taken:
    """Run the worker's verbs in this process."""
    url = place.url(synchronous_commit=commits)
    database = open_database(url, state=Path("/nowhere"), name="bench", patience=PATIENCE)
    worker = Worker(database, place.worker)
    clock, client = time.perf_counter(), time.process_time()
    for _ in range(cycles):
        worker.cycle()
    taken = Taken(clock=time.perf_counter() - clock, client=time.process_time() - client)
    database.close()
    return taken


def by_hand(place: Place, cycles: int, commits: str, *, schema: str = "public") -> Taken:
    """Run the script with pgbench, prepared, by one client."""
    url = place.url(synchronous_commit=commits, search_path=schema)
    command = [str(place.pgbench), "--no-vacuum", "--client=1", "--protocol=prepared", f"--transactions={cycles}"]
    command += [f"--define=worker={place.worker}", f"--file={SCRIPTS / 'floor.sql'}", url]
    before = _of_children()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    done = re.search(r"actually processed: (\d+)/", ran.stdout)
    rate = re.search(r"tps = ([\d.]+) \(without initial", ran.stdout)
    if ran.returncode or not done or not rate or int(done[1]) != cycles:
        raise SystemExit(f"pgbench did not do its cycles:\n{ran.stdout}{ran.stderr}")
    return Taken(clock=cycles / float(rate[1]), client=_of_children() - before)


def on_bare_tables(place: Place, cycles: int, commits: str) -> Taken:
    """Run the same script where nothing is enforced."""
    return by_hand(place, cycles, commits, schema=BARE)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


CONTESTANTS: Final = (
    Contestant(name="ours", schema="public", run=ours),
    Contestant(name="by hand, same schema", schema="public", run=by_hand),
    Contestant(name="by hand, bare tables", schema=BARE, run=on_bare_tables),
)
