"""Rounds: every contestant in turn on one server, again and again, so that what disturbs one disturbs all."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.contestants import CONTESTANTS, Contestant, Taken
from bench.places import Place

RELAXED: Final = "off"
DURABLE: Final = "on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The rounds of one contestant, and how many rows one cycle of it wrote, by table."""

    contestant: Contestant
    cycles: int
    rounds: Sequence[Taken]
    rows: dict[str, float]

    @property
    def rate(self) -> float:
        """Give cycles per second, the median of the rounds."""
        return median(self.cycles / taken.clock for taken in self.rounds)

    @property
    def client(self) -> float:
        """Give the client's processor time for one cycle in seconds, the median of the rounds."""
        return median(taken.client / self.cycles for taken in self.rounds)


def measured(place: Place, *, cycles: int, rounds: int, commits: str) -> list[Measured]:
    """Run them all; a round before the first warms caches and is not counted."""
    rows = {}
    for contestant in CONTESTANTS:
        rows[contestant.name] = _rows(place, contestant, cycles, commits)
    taken: dict[str, list[Taken]] = {contestant.name: [] for contestant in CONTESTANTS}
    for number in range(rounds):
        turn = number % len(CONTESTANTS)
        for contestant in (*CONTESTANTS[turn:], *CONTESTANTS[:turn]):
            taken[contestant.name].append(_run(place, contestant, cycles, commits))
    return [
        Measured(contestant=each, cycles=cycles, rounds=taken[each.name], rows=rows[each.name]) for each in CONTESTANTS
    ]


def _run(place: Place, contestant: Contestant, cycles: int, commits: str) -> Taken:
    place.queue(contestant.schema, cycles)
    return contestant.run(place, cycles, commits)


def _rows(place: Place, contestant: Contestant, cycles: int, commits: str) -> dict[str, float]:
    place.queue(contestant.schema, cycles)
    before = place.written(contestant.schema)
    contestant.run(place, cycles, commits)
    after = place.written(contestant.schema)
    changed = {table: (count - before.get(table, 0)) / cycles for table, count in after.items()}
    return {table: count for table, count in changed.items() if round(count, 1)}
