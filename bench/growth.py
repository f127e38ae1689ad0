"""What a claim costs while the queue grows: the same index entry is read, whatever lies behind it."""

import time
from statistics import median, quantiles
from typing import Final

import psycopg

from bench.contestants import PATIENCE
from bench.ours import EXECUTORS, KINDS, LEASE
from bench.places import SCRIPTS, Place
from bench.table import versions
from store import claims
from store.addresses import parse
from store.connections import connect
from store.engine import Connection

QUEUED: Final = (1_000, 100_000, 1_000_000)
_WARM: Final = 50


def measure(place: Place, *, claims_each: int) -> str:
    """Fill the queue step by step, claim at each, and write the page."""
    lines = [f"{claims_each} claims at each length, one client", *versions(place), ""]
    lines += ["| queued | median | p95 | this : the first |", "| -: | -: | -: | -: |"]
    first, there = 0.0, 0
    for wanted in QUEUED:
        _queue(place, wanted - there)
        taken = _claimed(place, claims_each)
        there = wanted - claims_each - _WARM
        middle, high = median(taken), quantiles(taken, n=20)[-1]
        first = first or middle
        lines.append(f"| {wanted:,} | {middle * 1e6:.0f} us | {high * 1e6:.0f} us | {middle / first:.2f} |")
    return "\n".join(lines)


def _queue(place: Place, count: int) -> None:
    """Queue more, past the checks of what is not measured here: a million rows by the rules would take an hour."""
    with psycopg.connect(place.superuser, dbname=place.database, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute((SCRIPTS / "queue.sql").read_bytes(), (count,))
        admin.execute("VACUUM ANALYZE")
        admin.execute("CHECKPOINT")


def _claimed(place: Place, count: int) -> list[float]:
    with connect(parse(place.url(synchronous_commit="off")), patience=PATIENCE) as db:
        for _ in range(_WARM):
            _claim(place, db)
        return [_claim(place, db) for _ in range(count)]


def _claim(place: Place, db: Connection) -> float:
    began = time.perf_counter()
    claims.claim(db, worker=place.worker, actor="bench", kinds=KINDS, executors=EXECUTORS, lease=LEASE)
    return time.perf_counter() - began
