"""Let workers, people and accidents loose on one server for a while, then look: `make soak SECONDS=45 WORKERS=4`."""

import argparse
import secrets
import sys
import threading
import time

from tests.soak import aftermath, people
from tests.soak.crowd import Crowd
from tests.soak.stage import Stage, a_stage

LIVE = 12  # tasks that are not closed, at most


def main() -> int:
    """Run one soak; give the exit code."""
    told = _arguments()
    sys.stdout.write(f"soak of {told.seconds} seconds, {told.workers} workers, SEED={told.seed}\n")
    sys.stdout.flush()
    with a_stage(told.seed) as stage:
        _noise(stage, told.seconds, told.workers)
        aftermath.check(stage)
        sys.stdout.write(aftermath.figures(stage) + "\n")
        for wrong in stage.wrong:
            sys.stdout.write(f"wrong: {wrong}\n")
        if stage.wrong:
            sys.stdout.write(f"what it left, and the log of its processes, is in {stage.folder}\n")
    return 1 if stage.wrong else 0


def _noise(stage: Stage, seconds: float, workers: int) -> None:
    crowd = Crowd(stage=stage, size=workers)
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            people.patiently(crowd.fill)
            people.patiently(lambda: _live(stage) < LIVE and stage.add())
            people.patiently(lambda: people.meddle(stage))
            if stage.random.random() < 0.3:
                people.patiently(crowd.shake)
            threading.Event().wait(stage.random.uniform(0.05, 0.4))
    finally:
        crowd.quiet()


def _live(stage: Stage) -> int:
    return sum(task.state not in people.CLOSED for task in people.standing(stage))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--workers", type=int, choices=range(2, 9), default=4)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="what chance begins with")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
