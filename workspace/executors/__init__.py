"""The ways to run an agent. Which one a task uses is named, never guessed, and never replaced by a weaker one."""

from typing import Final

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.agents.confinement import Confinement, Terms
from workspace.executors.local import Local
from workspace.executors.protocol import NO_LINKS, Attachment, Executor, Made, Order, Place
from workspace.executors.sandbox import Sandbox

__all__ = [
    "NO_LINKS",
    "Attachment",
    "Confinement",
    "Executor",
    "Made",
    "Order",
    "Place",
    "Terms",
    "find",
]

_KNOWN: Final = ("sandbox", "local")
_PLANNED: Final = ("docker", "ssh")


def find(name: str, confinement: Confinement | None = None) -> Executor:
    """Return the executor of this name, `type` or `type:target`; `confinement` is for those that have walls.

    Raises:
        Refusal: `executor_unavailable` for one that this version does not have; `executor_unknown`.
    """
    kind, _, target = name.partition(":")
    if kind in _PLANNED:
        raise Refusal(
            "executor_unavailable",
            f"executor {kind} is not available in this version, and no weaker one is taken in its place",
            hint="name one that is: " + ", ".join(f"--executor {known}" for known in _KNOWN),
            executor=kind,
        )
    if kind not in _KNOWN or target:
        raise Refusal(
            "executor_unknown",
            f"there is no executor {quote(name)}; known are {', '.join((*_KNOWN, *_PLANNED))}",
            hint="write one of them after --executor, or in TASKS_EXECUTOR",
            executor=name,
        )
    return Local() if kind == "local" else Sandbox(confinement or Confinement())
