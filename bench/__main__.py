"""Measure what the store costs, beside hand-written SQL: `python -m bench --help`."""

import argparse

from bench import growth, recovery
from bench.contestants import CONTESTANTS
from bench.places import Place, opened
from bench.rounds import DURABLE, RELAXED, measured
from bench.table import page


def main() -> None:
    """Run what is named, the cycle where nothing is, and print one page."""
    told = _arguments()
    with opened(told.url) as place:
        match told.what:
            case "recovery":
                print(recovery.measure(place, tasks=told.tasks, rounds=told.rounds or 3))
            case "growth":
                print(growth.measure(place, claims_each=told.claims))
            case _:
                print(_cycle(place, cycles=told.cycles, rounds=told.rounds or 11))


def _cycle(place: Place, *, cycles: int, rounds: int) -> str:
    taken = {commits: measured(place, cycles=cycles, rounds=rounds, commits=commits) for commits in (RELAXED, DURABLE)}
    return page(place, taken, cycles=cycles, rounds=rounds)


def _arguments() -> argparse.Namespace:
    names = ", ".join(contestant.name for contestant in CONTESTANTS)
    parser = argparse.ArgumentParser(prog="python -m bench", description=f"Contestants of the cycle: {names}.")
    parser.add_argument(
        "what",
        nargs="?",
        default="cycle",
        choices=("cycle", "recovery", "growth"),
        help="claim to settled (this, if nothing is named), a pass over lost tasks, or claims while the queue grows",
    )
    parser.add_argument("--cycles", type=int, default=300, help="cycle: tasks taken to review in each round")
    parser.add_argument("--tasks", type=int, default=100_000, help="recovery: tasks lost in each round")
    parser.add_argument("--claims", type=int, default=500, help="growth: claims at each length of the queue")
    parser.add_argument("--rounds", type=int, help="rounds of each contestant, in turn")
    parser.add_argument("--url", help="a superuser's URL of a server; without it, an embedded one is made and removed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
