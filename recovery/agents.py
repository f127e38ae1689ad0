"""Agents that outlived their worker: ended where they are proven ours, waited for where they are not."""

from dataclasses import dataclass

from recovery.scene import Scene
from statemachine.refusals import Refusal
from store import allocations
from store.attempts import Attempt
from store.engine import Connection
from workspace import executors
from workspace.executors import Executor
from workspace.survivors import Handle


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The processes an attempt was seen to start on this host, by what was recorded before they were let go."""

    executor: Executor
    handle: Handle

    @property
    def alive(self) -> bool:
        """Tell whether anything that is proven ours is alive."""
        return any(found.proven for found in self.executor.leftovers(self.handle))

    @property
    def doubtful(self) -> str:
        """Name what may be ours and cannot be proven to be; empty where there is nothing of the kind."""
        found = [each for each in self.executor.leftovers(self.handle) if not each.proven]
        return ", ".join(f"{each.process.pid} {each.command}" for each in found[:5])

    def end(self) -> None:
        """End all of it that is proven ours; refuse to go on while anything else may be.

        Raises:
            Refusal: `survivor_unproven`.
        """
        if not self.executor.end_leftovers(self.handle):
            self.refuse()

    def refuse(self) -> None:
        """Say that its task has to wait."""
        raise Refusal(
            "survivor_unproven",
            f"what may be its agent is alive and cannot be proven to be: {self.doubtful or 'it could not be ended'}",
            hint="end it by hand if it is; then the next pass goes on",
        )


def of(db: Connection, scene: Scene, attempt: Attempt) -> Agent | None:
    """Find the agent of an attempt where it ran on this host: numbers of processes mean nothing on another."""
    if attempt.handle is None or attempt.allocation_id is None:
        return None
    rows = allocations.listing(db, task=attempt.task_id, host=scene.host.id, released=True)
    if attempt.allocation_id not in {row.id for row in rows}:
        return None
    return Agent(executor=executors.find(attempt.executor), handle=Handle(**attempt.handle))
