"""Agents that outlived their worker: ended where they are proven ours, waited for where they are not."""

from collections.abc import Sequence
from dataclasses import dataclass

from recovery.scene import Scene
from statemachine.refusals import Refusal
from store import allocations
from store.attempts import Attempt
from store.engine import Connection
from workspace import executors
from workspace.agents.survivors import Handle, Survivor
from workspace.executors import Executor


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The processes an attempt started on this host, by what was recorded before they were let go."""

    executor: Executor
    handle: Handle

    def survivors(self) -> tuple[Survivor, ...]:
        """List what is alive of it, or may be it."""
        return self.executor.leftovers(self.handle)

    def end(self) -> None:
        """End all of it that is proven ours. Raises `survivor_unproven` where anything is left that may be it."""
        if not self.executor.end_leftovers(self.handle):
            raise unproven(self.survivors())


def of(db: Connection, scene: Scene, attempt: Attempt) -> Agent | None:
    """Find the agent of an attempt where it ran on this host: numbers of processes mean nothing on another."""
    if attempt.handle is None or attempt.allocation_id is None:
        return None
    here = allocations.listing(db, task=attempt.task_id, host=scene.host.id, released=True)
    if attempt.allocation_id not in {row.id for row in here}:
        return None
    return Agent(executor=executors.find(attempt.executor), handle=Handle(**attempt.handle))


def waited_for(agent: Agent | None) -> bool:
    """Tell whether anything of an agent is alive; raises `survivor_unproven` where none of that is proven ours."""
    living = agent.survivors() if agent else ()
    if living and not any(each.proven for each in living):
        raise unproven(living)
    return bool(living)


def unproven(survivors: Sequence[Survivor]) -> Refusal:
    """Say that a task has to wait for processes nobody may end for it."""
    shown = ", ".join(f"{each.process.pid} {each.command}" for each in survivors[:5])
    return Refusal(
        "survivor_unproven",
        f"what may be its agent is alive and not proven to be: {shown or 'it is gone by now'}",
        hint="end it by hand if it is; the next pass goes on",
    )
