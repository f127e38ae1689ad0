"""The workers of a soak, and whoever kills, stops and restarts them, their agents and their server."""

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from statemachine.failpoints import POINTS
from tests.soak.stage import Stage

Process = subprocess.Popen[bytes]

ENDS: Final = 90.0
# Where a worker of its own accord dies, if it gets there: instants that a signal from outside seldom meets.
_ON_THE_WAY: Final = [name for name, place in POINTS.items() if not place.startswith("worker.landing")]


@dataclass(slots=True, kw_only=True)
class Crowd:
    """So many worker processes; one that ends is followed by another."""

    stage: Stage
    size: int
    workers: list[Process] = field(default_factory=list)
    asleep: list[Process] = field(default_factory=list)

    def fill(self) -> None:
        """Start workers until there are enough; every fourth will die at a point of its own."""
        for worker in [each for each in self.workers if each.poll() is not None]:
            self.workers.remove(worker)
            self.stage.did["workers that ended"] += 1
        while len(self.workers) < self.size:
            random = self.stage.random
            fail_at = random.choice(_ON_THE_WAY) if random.random() < 0.25 else ""
            self.workers.append(self.stage.start("work", "--slots", 2, fail_at=fail_at))
            self.stage.did["workers"] += 1

    def shake(self) -> None:
        """Do one thing that hurts."""
        acts = [self.kill, self.kill, self.end, self.sleep, self.kill_agent, self.crash]
        self.wake()
        self.stage.random.choice(acts)()

    def kill(self) -> None:
        self._signal(signal.SIGKILL, "workers killed")

    def end(self) -> None:
        self._signal(signal.SIGTERM, "workers told to end")

    def sleep(self) -> None:
        """Stop a worker; it wakes after some more has happened, by then a zombie or not."""
        self.asleep += self._signal(signal.SIGSTOP, "workers put to sleep")

    def wake(self, *, everybody: bool = False) -> None:
        for worker in list(self.asleep):
            if everybody or self.stage.random.random() < 0.3:
                self.asleep.remove(worker)
                with suppress(ProcessLookupError):
                    worker.send_signal(signal.SIGCONT)

    def crash(self) -> None:
        self.stage.crash()
        self.stage.did["servers crashed"] += 1

    def kill_agent(self) -> None:
        with self.stage.database.connection() as db:
            rows = db.execute("SELECT (handle ->> 'pid')::int AS pid FROM attempt WHERE state = 'running'").fetchall()
        pids = [row["pid"] for row in rows if row["pid"]]
        if pids:
            with suppress(ProcessLookupError):
                os.kill(self.stage.random.choice(pids), signal.SIGKILL)
            self.stage.did["agents killed"] += 1

    def quiet(self) -> None:
        """Let workers leave as a service does, and merges end; one that does not is wrong, and killed."""
        self.wake(everybody=True)
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        for process in [*self.workers, *self.stage.merging]:
            try:
                process.wait(ENDS)
            except subprocess.TimeoutExpired:
                self.stage.wrong.append(f"process {process.pid} did not end within {ENDS} seconds")
                process.kill()
                process.wait()

    def _signal(self, number: int, what: str) -> list[Process]:
        awake = [worker for worker in self.workers if worker.poll() is None and worker not in self.asleep]
        if not awake:
            return []
        worker = self.stage.random.choice(awake)
        worker.send_signal(number)
        self.stage.did[what] += 1
        return [worker]
