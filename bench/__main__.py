"""Measure what a cycle costs, claim to settled, beside hand-written SQL: `python -m bench --help`."""

import argparse

from bench.contestants import CONTESTANTS
from bench.places import opened
from bench.rounds import DURABLE, RELAXED, measured
from bench.table import page


def main() -> None:
    """Run every contestant in turn, round after round, and print one page."""
    told = _arguments()
    with opened(told.url) as place:
        taken = {
            commits: measured(place, cycles=told.cycles, rounds=told.rounds, commits=commits)
            for commits in (RELAXED, DURABLE)
        }
        print(page(place, taken, cycles=told.cycles, rounds=told.rounds))


def _arguments() -> argparse.Namespace:
    names = ", ".join(contestant.name for contestant in CONTESTANTS)
    parser = argparse.ArgumentParser(prog="python -m bench", description=f"Contestants: {names}.")
    parser.add_argument("--cycles", type=int, default=300, help="tasks taken from queued to review in each round")
    parser.add_argument("--rounds", type=int, default=11, help="rounds of each contestant, in turn")
    parser.add_argument("--url", help="a superuser's URL of a server; without it, an embedded one is made and removed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
